"""Rules and rates for throttles."""

from typing import Any

from django.test import override_settings

from ratewindow.models import RateRule


def define(name: str, rate: str, mode: str = "enforce", **fields: Any) -> None:
    RateRule.objects.define(name, rate, mode=mode, **fields)


def rates(**rates: str | None) -> Any:
    return override_settings(REST_FRAMEWORK={"DEFAULT_THROTTLE_RATES": rates})
