"""The models. Requests never see rows, only frozen values that `rulebook` reads from them."""

from ratewindow.models.overrides import LimitSwitch, Override
from ratewindow.models.rules import AppliesTo, Mode, OnError, OnMissing, RateRule, RuleWindow
from ratewindow.models.stats import OffenderStat, ThrottleStat

__all__ = [
    "AppliesTo",
    "LimitSwitch",
    "Mode",
    "OffenderStat",
    "OnError",
    "OnMissing",
    "Override",
    "RateRule",
    "RuleWindow",
    "ThrottleStat",
]
