"""Subcommands of ``manage.py ratewindow``, and requests that meet what they did."""

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ratewindow.models import RateRule
from tests.support.doors import behind_middleware, plain, statuses


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("ratewindow", *arguments, stdout=out)
    return out.getvalue().strip()


def wrong(*arguments: str) -> str:
    with pytest.raises(CommandError) as raised:
        run(*arguments)
    return str(raised.value)


def define(name: str, rate: str, **fields: Any) -> None:
    RateRule.objects.define(name, rate, mode="enforce", **fields)


def from_me(count: int) -> list[int]:
    return statuses(behind_middleware(plain(False)), count, REMOTE_ADDR="203.0.113.9")
