"""What staff may do, as plain functions for a site without Django's admin, whose pages stand on them.

`by` is the user who acts. PermissionDenied says that this user may not, ValidationError what is wrong, as a dict by field. Edits
are recorded as those of the admin are; their way is ``api``.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import models, router, transaction
from django.forms import model_to_dict, modelform_factory
from django.utils.translation import gettext_lazy as _

from ratewindow.conf import in_words, time_zone
from ratewindow.counting.sums import NUMBERS
from ratewindow.health import emergency, overview
from ratewindow.models import Mode, Override, RateRule, origin
from ratewindow.models.defining import PLACES, spell_out, take_limits, write_limits
from ratewindow.operations import clients, forms
from ratewindow.operations.rights import FORBIDDEN, display, may, may_look_up, may_view_overrides, require, whom
from ratewindow.report import offenders, reading as reports, summary
from ratewindow.report.report import CHOICES, HOUR, LONGEST, WITHOUT_BLOCKS, Period, between, last
from ratewindow.rules.rate_options import check_types
from ratewindow.rules.rule import check_soft

MOST_CLIENTS = 12  # of a report


# Rules


def rules(*, by: Any) -> "models.QuerySet[RateRule]":
    """All rules with their limits, by name."""
    require(may(by, "view_raterule"))
    return RateRule.objects.prefetch_related("windows")


def define(name: str, rate: str, *, by: Any, reason: str = "", **fields: Any) -> RateRule:
    """Add a rule, in shadow unless `mode` is given; the fields are those of `RateRule.objects.define`."""
    with _edits(by, may(by, "add_raterule"), reason):
        return _save_rule(RateRule(), {**fields, "name": name}, rate, by)


def edit(name: str, *, by: Any, rate: str | None = None, reason: str = "", **changes: Any) -> RateRule:
    """Change these fields, and with a `rate` all limits. RateRule.DoesNotExist without such a rule."""
    with _edits(by, may(by, "change_raterule"), reason):
        return _save_rule(RateRule.objects.select_for_update().get(name=name), changes, rate, by)


def set_mode(rules: "models.QuerySet[RateRule]", mode: str, *, by: Any, reason: str = "") -> list[RateRule]:
    """Bring rules into a mode, whatever else is wrong with them; returns those that were in another one."""
    with _edits(by, may(by, "change_raterule") and (mode != Mode.ENFORCE or may(by, "enforce_raterule")), reason):
        moved = list(rules.select_for_update().exclude(mode=mode).order_by("name"))
        for rule in moved:
            rule.mode = mode
            rule.save(update_fields=["mode"])
    return moved


def delete(name: str, *, by: Any, reason: str = "") -> None:
    """Delete a rule. RateRule.DoesNotExist without one."""
    with _edits(by, may(by, "delete_raterule"), reason):
        RateRule.objects.get(name=name).delete()


def _save_rule(row: RateRule, given: dict[str, Any], rate: str | None, by: Any) -> RateRule:
    name = given.get("name", row.name)
    with _about():
        spell_out(name, {place: given.pop(place, None) for place in PLACES}, given)
        check_types(given, RateRule())  # a form would read most texts as True
    with _about("rate"):
        windows = take_limits(name, rate, given) if rate is not None else ()
    if given.get("soft", row.soft):
        with _about("soft"):
            check_soft(True, windows or [each.freeze() for each in row.windows.all()])
    rule: RateRule = _saved(forms.PlainRuleForm, row, given, by)
    if windows:
        write_limits(rule, windows)
    return rule


# Blocks, exemptions and other rates


def overrides(*, by: Any, limit: int = 100) -> list[dict[str, Any]]:
    """The newest that have not ended."""
    require(may_view_overrides(by))
    return [_seen(row, by) for row in Override.objects.not_ended().select_related("created_by")[:limit]]


def block(identity: str, *, by: Any, duration: str | timedelta | None = None, **fields: Any) -> dict[str, Any]:
    """Refuse every request of a client, or with ``rule=`` those that match it. `fields` are those of the admin's form."""
    return _add("block", identity, duration, fields, by)


def exempt(identity: str, *, by: Any, duration: str | timedelta | None = None, **fields: Any) -> dict[str, Any]:
    """Let every request of a client pass."""
    return _add("allow", identity, duration, fields, by)


def rate(identity: str, rate: str, *, by: Any, duration: str | timedelta | None = None, **fields: Any) -> dict[str, Any]:
    """Apply another rate to a client."""
    return _add("rate", identity, duration, {**fields, "rate": rate}, by)


def _add(action: str, identity: str, duration: str | timedelta | None, fields: dict[str, Any], by: Any) -> dict[str, Any]:
    given = {**fields, "action": action, "identity": identity, "lasts": duration}
    with _edits(by, may(by, "add_override"), fields.get("reason", "")):
        return _seen(_saved(forms.PlainOverrideForm, Override(), given, by), by)


def _seen(row: Override, by: Any) -> dict[str, Any]:
    """One as a user may see it: `who` is masked without `view_identity`."""
    shown = {name: getattr(row, name) for name in ("pk", "action", "rule", "rate", "starts_at", "expires_at", "reason")}
    return {**shown, "who": whom(by, row.identity), "created_by": row.created_by.get_username() if row.created_by else ""}


def end(pk: int, *, by: Any, reason: str = "") -> bool:
    """End a block, an exemption or another rate; returns whether it had not ended."""
    with _edits(by, may(by, "change_override"), reason):
        return bool(Override.objects.not_ended().filter(pk=pk).end())


def release(identity: str, rule: str = "", *, by: Any, reason: str = "") -> clients.Released:
    """Delete the counts of a client, and end the blocks that name it; the number of these is for those who may look it up."""
    with _edits(by, may(by, "release_identity"), reason):
        typed = _checked(forms.PlainReleaseForm({"identity": identity, "rule": rule}), by).cleaned_data
        try:
            released = clients.release(typed["identity"], typed["rule"])
        except ValueError as error:
            field = "rule" if rule and "rule" in str(error) else "identity"
            raise ValidationError({field: f"{in_words.translated(error)}."}) from None
    return released if may_look_up(by) else replace(released, ended=None)


# The report


def report(*, by: Any, hours: int = 1) -> dict[str, Any]:
    """What its page says: `summary` and `figures` in words, what the `rules` did, and the most refused `clients`."""
    require(by.has_perm("ratewindow.view_throttlestat"))
    if not 0 < hours <= LONGEST / HOUR:
        raise ValidationError(
            {
                "hours": _("%(hours)s is no length of a report: write the hours, from 1 to %(most)d.")
                % {"hours": hours, "most": LONGEST / HOUR}
            }
        )
    now, status = time_zone.now(), overview.status(at_server=False)
    choice = next((name for name, (length, *_) in CHOICES.items() if length == hours * HOUR), "")
    period = last(choice, now) if choice else between(now - hours * HOUR, now, now)
    reading = without_proxy(read_report(period, "", now, MOST_CLIENTS, status, by), status)
    return {
        "summary": first_sentences(reading, status, by),
        "figures": summary.figures(reading.report),
        "rules": [
            {"name": name, **dict(zip(NUMBERS, sums.numbers, strict=True))} for name, sums in summary.ranked(reading.report)
        ],
        "clients": [
            {"who": display(by, name.value), "refused": name.refused, "would_refuse": name.would_refuse}
            for name, _ in offenders.listed(reading.offenders)[:MOST_CLIENTS]
        ],
    }


def read_report(period: Period, rule: str, now: datetime, most: int, status: Mapping[str, Any], by: Any) -> reports.Reading:
    """Requests of blocked clients that matched no rule are a line for those who may know of blocks."""
    return reports.read(
        period,
        rule or ("" if may_view_overrides(by) else WITHOUT_BLOCKS),
        now,
        most,
        status["store"]["reachable"],
        emergency.of_all(status["processes"]),
    )


def without_proxy(reading: reports.Reading, status: Mapping[str, Any]) -> reports.Reading:
    """An untrusted proxy is none of those who are behind a spell."""
    behind = reading.behind
    if behind is None or not overview.is_proxy(status["processes"], behind.value):
        return reading
    return replace(reading, behind=replace(behind, value="", clients=offenders.HowMany(0), known=None))


def first_sentences(reading: reports.Reading, status: Mapping[str, Any], by: Any) -> str:
    return " ".join([*overview.proxies(status["processes"]), summary.summary(reading, partial(display, by))])


# What these share


@contextmanager
def _edits(by: Any, is_permitted: object, reason: str) -> Iterator[None]:
    """One transaction of edits by this user. A page of the admin has said that they are its own."""
    require(is_permitted)
    said = origin.current()
    way = said.way if said.user_pk == by.pk else "api"
    with origin.edits(way, user=by, reason=reason or said.reason), transaction.atomic(using=router.db_for_write(RateRule)):
        yield


@contextmanager
def _about(field: str = "") -> Iterator[None]:
    """Raise a ValueError as a ValidationError about a field, or about the one that the message begins with."""
    try:
        yield
    except ValueError as error:
        raise ValidationError({field or str(error).partition(" ")[0]: f"{in_words.translated(error)}."}) from None


def _saved(form: Any, row: Any, given: Mapping[str, Any], by: Any) -> Any:
    """The row with these values, saved if the form finds it valid."""
    names = [each.name for each in row._meta.fields if each.editable and not each.primary_key]
    form_class: Any = modelform_factory(type(row), form, fields=names)
    if unknown := given.keys() - form_class.base_fields:
        raise ValidationError({name: _("There is no such field.") for name in sorted(unknown)})
    return _checked(form_class({**model_to_dict(row, names), **given}, instance=row), by).save()


def _checked(form: Any, by: Any) -> Any:
    """The form, if it is valid. PermissionDenied, with the reasons, if anything in it takes a permission that `by` lacks."""
    form.by = by
    errors = {"duration" if field == "lasts" else field: found for field, found in form.errors.as_data().items()}
    if forbidden := [text for found in errors.values() for each in found if each.code == FORBIDDEN for text in each.messages]:
        raise PermissionDenied(" ".join(forbidden))
    if errors:
        raise ValidationError(errors)
    return form
