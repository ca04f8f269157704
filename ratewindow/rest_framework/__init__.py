"""The door for Django REST framework: rules as throttles, and its own throttles by the same names."""

from ratewindow import coderules
from ratewindow.rest_framework import uses
from ratewindow.rest_framework.throttles import (
    AnonRateThrottle,
    RuleThrottle,
    ScopedRateThrottle,
    SimpleRateThrottle,
    UserRateThrottle,
)

__all__ = ["AnonRateThrottle", "RuleThrottle", "ScopedRateThrottle", "SimpleRateThrottle", "UserRateThrottle"]

coderules.seek_with(uses.register)
