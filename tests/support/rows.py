"""Unsaved rules and limits, and what is wrong with them."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from ratewindow.models import RateRule, RuleWindow


def rule(**fields: Any) -> RateRule:
    return RateRule(**{"name": "login", **fields})


def wrong(row: RateRule | RuleWindow) -> dict[str, list[str]]:
    """What is wrong with a row, by field."""
    with pytest.raises(ValidationError) as raised:
        row.full_clean()
    return raised.value.message_dict


def window(limit: Any = 5, period: Any = "1m", **fields: Any) -> RuleWindow:
    owner, _ = RateRule.objects.get_or_create(name="login")
    return RuleWindow(rule=owner, limit=limit, period=period, **fields)
