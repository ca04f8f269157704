"""The door for Django REST framework: rules as throttles, and its own throttles by the same names."""

from ratewindow.request import doors
from ratewindow.rest_framework import views
from ratewindow.rest_framework.throttles import (
    AnonRateThrottle,
    RuleThrottle,
    ScopedRateThrottle,
    SimpleRateThrottle,
    UserRateThrottle,
)
from ratewindow.rules import code_rates

__all__ = ["AnonRateThrottle", "RuleThrottle", "ScopedRateThrottle", "SimpleRateThrottle", "UserRateThrottle"]

code_rates.finders.append(views.problems)
doors.finders.append(views.doors)
