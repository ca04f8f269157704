"""What a rule did, or would have done, in the last day or since its mode was changed: counts, clients, and who changed it."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow import conf
from ratewindow.admin.banner import glance
from ratewindow.admin.masking import display
from ratewindow.conf import time_zone
from ratewindow.conf.in_words import listed
from ratewindow.models import Edit, RateRule
from ratewindow.reporting.offenders import HowMany, offenders
from ratewindow.reporting.periods import DAY, Period, between, last
from ratewindow.reporting.report import Report, report
from ratewindow.reporting.stored import span_start
from ratewindow.reporting.summary import number, percent
from ratewindow.reporting.sums import Sums

MOST_NAMED = 3  # clients in a sentence
MOST_EDITS = 100  # that are searched for the last change of a mode


@dataclass(frozen=True)
class Stage:
    """How far a rule is enforced."""

    mode: str
    percent: int = 100  # of clients, where it is enforced

    @classmethod
    def of(cls, rule: RateRule) -> "Stage":
        return cls(rule.mode, rule.enforce_percent if rule.mode == "enforce" else 100)

    def __str__(self) -> str:
        """``enforce-10``: as forms send it."""
        return f"{self.mode}-{self.percent}"

    @property
    def words(self) -> str:
        if self.mode == "enforce" and self.percent < 100:
            return gettext("enforced for %d %% of clients") % self.percent
        return {"enforce": gettext("enforced for all clients"), "shadow": gettext("in shadow"), "off": gettext("off")}.get(
            self.mode, self.mode
        )


@dataclass(frozen=True)
class Since:
    """When and by whom a rule was brought to its stage."""

    at: datetime
    by: str

    @property
    def local(self) -> datetime:
        return time_zone.local(self.at)


def since(rule: RateRule) -> Since | None:
    """The last change of mode or percentage that the history has."""
    edits = Edit.objects.filter(kind=Edit.Kind.RULE, subject=rule.name).values_list("at", "by", "before", "after")[:MOST_EDITS]
    for at, by, before, after in edits:
        if _stage(before) != _stage(after):
            return Since(at, by)
    return None


def _stage(values: dict[str, Any] | None) -> Stage | None:
    """The stage in a document, which leaves out what is the default."""
    if values is None:
        return None
    return Stage(values.get("mode", ""), values.get("enforce_percent", 100) if values.get("mode") == "enforce" else 100)


def period(since: Since | None = None) -> Period:
    """The last 24 hours, or from the minute of the last change on."""
    now, kept = time_zone.now(), conf.current().retention
    if since is None or now - since.at >= DAY:
        return last("24h", now, kept)
    found = between(since.at, now + timedelta(seconds=1), now, kept)
    return replace(found, start=span_start(since.at, found.resolution))  # counts are of whole minutes, not of seconds


def counts(request: HttpRequest, period: Period, rule: str = "") -> Report:
    """The counts of one rule or of all; from the database alone while Redis does not answer."""
    return report(period, rule, ask_redis=glance(request).reachable)


def sentence(stage: Stage, sums: Sums, live: bool, period: Period) -> str:
    """``In the last 24 hours it met 41,230 requests and would have refused 312 (0.8 %).``"""
    values = {
        "met": number(sums.met),
        "refused": number(sums.refused),
        "share": percent(sums.refused, sums.met),
        "would": number(sums.would_refuse),
        "would_share": percent(sums.would_refuse, sums.met),
        "start": time_zone.in_short(period.start),
    }
    if not sums.met and not live:
        return gettext("Without Redis it is not known what it has met.")
    return (_in_the_last_day(stage, sums) if period.words else _since_then(stage, sums)) % values


def _in_the_last_day(stage: Stage, sums: Sums) -> str:
    if not sums.met:
        return gettext("In the last 24 hours, no request met it.")
    if stage.mode != "enforce":
        return gettext(
            "In the last 24 hours, it met %(met)s requests and would have refused %(would)s of them (%(would_share)s)."
        )
    if stage.percent < 100:
        return gettext(
            "In the last 24 hours, it met %(met)s requests and refused %(refused)s of them (%(share)s); of the other clients it "
            "would have refused %(would)s (%(would_share)s)."
        )
    return gettext("In the last 24 hours, it met %(met)s requests and refused %(refused)s of them (%(share)s).")


def _since_then(stage: Stage, sums: Sums) -> str:
    if not sums.met:
        return gettext("From %(start)s on, in whole minutes, no request met it.")
    if stage.mode != "enforce":
        return gettext(
            "From %(start)s on, in whole minutes, it met %(met)s requests and would have refused %(would)s of them "
            "(%(would_share)s)."
        )
    if stage.percent < 100:
        return gettext(
            "From %(start)s on, in whole minutes, it met %(met)s requests and refused %(refused)s of them (%(share)s); of the "
            "other clients it would have refused %(would)s (%(would_share)s)."
        )
    return gettext("From %(start)s on, in whole minutes, it met %(met)s requests and refused %(refused)s of them (%(share)s).")


def clients(request: HttpRequest, stage: Stage, period: Period, rule: str) -> str:
    """``They came from 9 clients, 1 of them signed in. Most often: 203.0.113.9 (120), …``: whose requests a rule refused."""
    outcome = "refused" if stage.mode == "enforce" else "would_refuse"
    found = offenders(period, rule, ask_redis=glance(request).reachable)
    many, signed_in = getattr(found, outcome), getattr(found, f"{outcome}_signed_in")
    if not many:
        return ""
    said = _came_from(many, signed_in)
    if not request.user.has_perm("ratewindow.view_throttlestat"):
        return said
    counts = sorted(((getattr(name, outcome), name.value) for name in found.clients.most), key=lambda each: (-each[0], each[1]))
    named = [f"{display(request, value)} ({number(count)})" for count, value in counts[:MOST_NAMED] if count]
    return " ".join([said, gettext("Most often: %s.") % listed(named)] if named else [said])


def _came_from(many: HowMany, signed_in: HowMany) -> str:
    if many.exact and many.number == 1:
        if signed_in:
            return gettext("They came from 1 client, signed in.")
        return gettext("They came from 1 client, not signed in.")
    values = {"clients": _how_many(many), "signed_in": _how_many(signed_in)}
    return gettext("They came from %(clients)s clients, %(signed_in)s of them signed in.") % values


def _how_many(many: HowMany) -> str:
    return number(many.number) if many.exact else gettext("at least %s") % number(many.number)
