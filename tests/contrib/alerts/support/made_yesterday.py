"""A day and those before as the collector has stored them: an attack of one network, a rule in shadow, one never met."""

from datetime import UTC, datetime, timedelta

from ratewindow.counting.sums import Counted, Group, Who
from ratewindow.models import RateRule, ThrottleStat
from tests.support.made_counts import add_rows

NOW = datetime(2027, 1, 15, 8, 2, 20, tzinfo=UTC)  # a Friday
YESTERDAY = datetime(2027, 1, 14, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
THE_NETWORK = "ip:203.0.113.0/24"


def row(resolution: str, start: datetime, rule: str, **counts: int) -> ThrottleStat:
    reasons = {"limit": counts["refused"]} if counts.get("refused") else {}
    return ThrottleStat(resolution=resolution, start=start, rule=rule, reasons=reasons, **counts)


def make(now: datetime = NOW) -> None:
    """Enough earlier days to know what is usual. Of `now` only the day matters."""
    yesterday = now.replace(hour=0, minute=0, second=0, microsecond=0) - DAY
    for name, mode in (("login", "enforce"), ("forgotten", "enforce"), ("search", "shadow")):
        RateRule.objects.define(name, "5/m", path=f"/{name}/", mode=mode)
    rows = []
    for ago in range(40):
        day = yesterday - ago * DAY
        rows.append(row("day", day, "login", passed=24_000, refused=48 if ago else 5046))
        rows.append(row("day", day, "search", passed=2_400, would_refuse=24))
        for hour in range(24 if ago < 16 else 0):
            start = day + hour * HOUR
            attacked = not ago and hour == 2
            rows.append(row("hour", start, "login", passed=1000, refused=5000 if attacked else 2))
            rows.append(row("hour", start, "search", passed=100, would_refuse=1))
            for minute in () if ago else (0, 15, 30, 45):
                at = start + minute * HOUR / 60
                rows.append(row("minute", at, "login", passed=250, refused=1250 if attacked else minute // 45 * 2))
                rows.append(row("minute", at, "search", passed=25, would_refuse=minute // 45))
    ThrottleStat.objects.bulk_create(rows)
    named = {f"ip:203.0.113.{each}": Counted(350) for each in range(14)}
    named["user:42"] = Counted(46)
    who = Who(Counted(4946, 0, 6000), Group(named), Group({THE_NETWORK: Counted(4900)}))
    for resolution in ("minute", "hour"):
        add_rows(resolution, {(yesterday + 2 * HOUR, "login"): who})  # type: ignore[arg-type]
