"""A row in every table of ratewindow and its rooms, each with what databases treat differently."""

from datetime import timedelta

from django.apps import apps
from django.db.models import Model
from django.utils import timezone

from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.models import LimitSwitch, OffenderStat, Override, RateRule, ThrottleStat

START = timezone.now().replace(minute=0, second=0, microsecond=0)
PARTY = "🎉 für alle"  # more bytes than MySQL's `utf8` has room for


def fill() -> None:
    rule, _ = RateRule.objects.define("login", "5/m; 20/h", path="/login/", penalty="15m", description=PARTY)
    Override.objects.block("header:x-who:Ann", duration=timedelta(hours=1), reason=PARTY)
    LimitSwitch.objects.create(changed_at=timezone.now(), reason=PARTY)
    of_rule = {"rule": rule.name, "resolution": "hour", "start": START}
    ThrottleStat.objects.create(**of_rule, passed=3, reasons={PARTY: 1})
    OffenderStat.objects.create(**of_rule, kind="client", value=f"header:x-who:{PARTY}", refused=2)
    AlertChannel.objects.create(name=PARTY, way="log")
    assert all(model._default_manager.exists() for model in models())


def models() -> list[type[Model]]:
    """Those of the core and of rooms."""
    return [model for model in apps.get_models() if model._meta.app_label.startswith("ratewindow")]
