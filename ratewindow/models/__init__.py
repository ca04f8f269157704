"""The models. Requests never see rows, only frozen values that `rulebook` reads from them."""

from ratewindow.models.alert_channels import AlertChannel
from ratewindow.models.cleaning_runs import CleaningRun
from ratewindow.models.edits import Edit
from ratewindow.models.evidence import Evidence
from ratewindow.models.overrides import Override
from ratewindow.models.recordings import RecordedHour, Recording
from ratewindow.models.rules import AppliesTo, Mode, OnError, OnMissing, RateRule
from ratewindow.models.stats import OffenderStat, ThrottleStat, TotalStat
from ratewindow.models.switch import LimitSwitch
from ratewindow.models.windows import RuleWindow

__all__ = [
    "AlertChannel",
    "AppliesTo",
    "CleaningRun",
    "Edit",
    "Evidence",
    "LimitSwitch",
    "Mode",
    "OffenderStat",
    "OnError",
    "OnMissing",
    "Override",
    "RateRule",
    "RecordedHour",
    "Recording",
    "RuleWindow",
    "ThrottleStat",
    "TotalStat",
]
