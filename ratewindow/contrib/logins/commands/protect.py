"""``manage.py ratewindow protect``: the ready rules for logins and the steps around them, and what they cover."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.core import checks
from django.core.management.base import CommandError
from django.db import router, transaction

from ratewindow import conf, rooms
from ratewindow.checks import TAG
from ratewindow.contrib.logins.checks import NO_GATE
from ratewindow.contrib.logins.ready import KINDS
from ratewindow.contrib.logins.steps import kinds_of
from ratewindow.contrib.logins.targets import STEPS
from ratewindow.limiter.rates import parse_rates
from ratewindow.management.subcommand import REASON, Subcommand, table
from ratewindow.models import RateRule
from ratewindow.operations import switch_off
from ratewindow.rules.site_routes import routes
from ratewindow.start import presets

UNCOMPARED = ("id", "name", "description", "mode_since")
UNSEEN = (
    "It cannot see a view that calls check_password, or checks a code, by itself and has no name such as otp: decorate that with "
    "ratewindow.contrib.logins.step."
)


def _run(options: dict[str, Any], stdout: Any) -> None:
    if problems := [each for each in checks.run_checks(tags=[TAG]) if each.id in NO_GATE]:
        raise CommandError("\n".join(f"{each.msg} {each.hint}" for each in problems))
    ready = [preset for group in presets.groups() if group.kind in KINDS for preset in group.found]
    rows = {row.name: row for row in RateRule.objects.prefetch_related("windows")}
    if options["check"]:
        stdout.write("\n".join([*_covered(), UNSEEN]))
        _check(ready, [*rows.values()])
        stdout.write("Every way in that can be seen has its rules, enforced.")
        return
    added, enforced = _protect(ready, rows, options["enforce"])
    if added:
        lines = [(each.name, each.rate, each.fields["applies_to"], each.fields["key"]) for each in added]
        stdout.write(table(("RULE", "LIMITS", "APPLIES TO", "PER"), lines))
        stdout.write("\n".join([*_covered(), UNSEEN]))
        names = f"{len(added)} rules" if added[1:] else "1 rule"
        stdout.write(f"Added {names}, {'enforced' if options['enforce'] else 'in shadow, where nobody is refused'}.")
    if enforced:
        stdout.write(f"Enforced: {', '.join(enforced)}.")
    if not added and not enforced:
        stdout.write("Nothing to add.")
    if left := [preset.used_by for preset in ready if preset.used_by in rows and rows[preset.used_by].mode != "enforce"]:
        edited = ", since they were edited: enforce them in the admin" if options["enforce"] else ""
        stdout.write(f"Not enforced{edited}: {', '.join(left)}.")


def _protect(ready: Sequence[presets.Preset], rows: dict[str, RateRule], enforce: bool) -> tuple[list[presets.Preset], list[str]]:
    """Add what is missing, and enforce what was added in shadow and is still as it was; returns both."""
    mode = "enforce" if enforce else "shadow"
    missing = [preset for preset in ready if not preset.used_by]
    raised = [rows[each.used_by] for each in ready if enforce and each.used_by in rows and _is_as_added(rows[each.used_by], each)]
    with transaction.atomic(using=router.db_for_write(RateRule)):
        for preset in missing:
            RateRule.objects.define(preset.name, preset.rate, **{**preset.fields, "mode": mode})
        for rule in raised:
            rule.mode = mode
            rule.save()
    return missing, [rule.name for rule in raised]


def _is_as_added(rule: RateRule, preset: presets.Preset) -> bool:
    windows = {window.freeze() for window in rule.windows.all()}
    added = RateRule(name=rule.name, **{**preset.fields, "mode": "shadow"})
    compared = (field.attname for field in RateRule._meta.concrete_fields if field.name not in UNCOMPARED)
    return windows == {*parse_rates(preset.rate)} and all(getattr(rule, name) == getattr(added, name) for name in compared)


def _check(ready: Sequence[presets.Preset], rows: Sequence[RateRule]) -> None:
    """Raise CommandError where limits are off, or a way in that the site has lacks a rule that is enforced for all."""
    if switch_off.current().off or not conf.current().enabled:
        raise CommandError("All limits are switched off: manage.py ratewindow on, and ENABLED in the setting.")
    if gaps := [*_open(ready, rows)]:
        gaps.append("protect --enforce adds what is missing, and enforces what was added in shadow and not edited since.")
        raise CommandError("\n".join(gaps))


def _open(ready: Sequence[presets.Preset], rows: Sequence[RateRule]) -> Iterator[str]:
    for preset in ready:
        kind, key = preset.fields["applies_to"], preset.fields["key"]
        gaps = [_gap(row) for row in rows if (row.applies_to, row.key) == (kind, key)] or ["there is no rule"]
        if all(gaps) and (kind not in STEPS or _paths(kind)):
            yield f"Not limited: {rooms.targets()[kind].label}, per {key}: {', '.join(gaps)}."


def _gap(rule: RateRule) -> str:
    """What a rule leaves open, or empty."""
    if rule.mode != "enforce":
        return f"{rule.name} is {'in shadow' if rule.mode == 'shadow' else 'off'}"
    if rule.enforce_percent < 100:
        return f"{rule.name} is enforced for {rule.enforce_percent} % of clients"
    if not rule.windows.all():
        return f"{rule.name} has no limits"
    return f"{rule.name} is for {rule.methods} alone" if rule.methods and "POST" not in rule.methods else ""


def _covered() -> Iterator[str]:
    yield "Logins: every password that authenticate() is asked about, whatever the way in."
    for kind, target in STEPS.items():
        yield f"{target.label}: {', '.join(_paths(kind)) or 'none here'}."


def _paths(kind: str) -> list[str]:
    """Of this kind of step on this site, but for those that REST framework has added, for other formats of the same view."""
    paths = (
        route.path
        for route in routes()
        for method in getattr(route.way.callback, "actions", None) or ("post", "put", "patch", "delete")
        if "format>" not in route.path and kind in kinds_of(route.way.callback, method, route.way.url_name or "", route.path)
    )
    return [*dict.fromkeys(paths)]


PROTECT = Subcommand(
    NAME="protect",
    HELP="Add the ready rules for logins, mails that anybody may ask for, sign-ups, one-time codes and passwords typed again: in "
    "shadow, or enforced with --enforce. Says what they cover. Rules that people have edited stay as they are.",
    arguments=[
        ("--enforce", {"action": "store_true", "help": "enforce them, also those that it added in shadow before"}),
        ("--check", {"action": "store_true", "help": "change nothing, and exit 1 if a way in is open"}),
        REASON,
    ],
    run=_run,
)
