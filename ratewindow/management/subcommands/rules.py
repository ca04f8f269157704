"""The subcommands about rules: list them (``rules``), put one in another ``mode``, and ``suggest`` a first set."""

from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandError

from ratewindow.management.subcommand import REASON, Subcommand, table
from ratewindow.models import RateRule, RuleWindow
from ratewindow.rules import code_rates
from ratewindow.rules.rule import ALWAYS, MODES, written
from ratewindow.start import presets


def listing() -> str:
    """Every rule in the database and every rate in code."""
    rows = [_row(rule) for rule in RateRule.objects.prefetch_related("windows")]
    for use in (use for name in code_rates.load_names() for use in code_rates.rated(name)):
        limits = ", ".join(filter(None, (use.words, use.options.words)))  # as they stand in the code
        rows.append((use.name, "in code", use.place, ",".join(sorted(use.methods)), use.key, limits))
    if not rows:
        return "No rules yet: add one in the admin, or in code with ratewindow.limit, @ratelimit or RateRule.objects.define."
    return table(("RULE", "MODE", "APPLIES TO", "METHODS", "PER", "LIMITS"), sorted(rows))


def _row(rule: RateRule) -> tuple[str, ...]:
    limits = "; ".join(map(_limit, rule.windows.all()))
    if limits and written(rule.count_when) != ALWAYS:
        limits += (
            f" when {rule.count_when}{', charged first' if rule.hold else ''}{', forgiven by success' if rule.forgive else ''}"
        )
    limits += f", or by {rule.limits_from!r}" if rule.limits_from else ""
    limits += " (soft)" if rule.soft else ""
    place = f"{rule.applies_to} {rule.pattern}".strip()
    return rule.name, _mode_of(rule), place, rule.methods or "all", rule.key, limits or "none: limits nothing"


def _limit(window: RuleWindow) -> str:
    """As a rate; the problem of a limit that is invalid, which only raw SQL or a fixture can write."""
    try:
        return window.freeze().text
    except ValueError as error:
        return f"wrong: {error}"


def _mode_of(rule: RateRule) -> str:
    """``enforce``, or ``enforce 10 %``."""
    return f"{rule.mode} {rule.enforce_percent} %" if rule.mode == "enforce" and rule.enforce_percent < 100 else rule.mode


def _mode(options: dict[str, Any], stdout: Any) -> None:
    name = options["rule"]
    rule = RateRule.objects.filter(name=name).first()
    if rule is None:
        raise CommandError(f"There is no rule {name[:64]!r} in the database: manage.py ratewindow rules lists them.")
    before, rule.mode = rule.mode, options["mode"]
    rule.save(update_fields=["mode"])
    stdout.write(f"{name}: {_mode_of(rule)} (was: {before}).")


def _suggest(options: dict[str, Any], stdout: Any) -> None:
    groups = presets.groups()
    created = _create(groups, options["create"]) if options["create"] is not None else []
    stdout.write("\n\n".join(_section(group, created) for group in groups))
    if created:
        stdout.write(f"\nSaved in shadow: {', '.join(created)}. To enforce one: manage.py ratewindow mode RULE enforce")
    else:
        stdout.write("\nTo save the new ones in shadow: manage.py ratewindow suggest --create; some of them: --create RULE RULE")


def _create(groups: Sequence[presets.Group], names: Sequence[str]) -> list[str]:
    """Save the rules of these names with those for the same requests, or all; returns the names of those that are new."""
    new = {preset.name: preset for group in groups for preset in group.found if not preset.used_by}
    if unknown := [name for name in names if name not in new]:
        raise CommandError(f"{unknown[0]!r} is no new rule here. New are: {', '.join(new) or 'none'}.")
    places = {new[name].place for name in names}
    return [presets.save(preset).name for preset in new.values() if not names or preset.place in places]


def _section(group: presets.Group, created: Sequence[str]) -> str:
    lines = table(("RULE", "LIMITS", "PER", "APPLIES TO", ""), [_line(preset, created) for preset in group.found])
    reasons = [
        f"{preset.name}: {preset.fields['description']}" for preset in group.found if not preset.used_by and group.kind.parts
    ]
    return "\n".join([f"{group.kind.title}. {group.kind.why}", lines, *reasons])


def _line(preset: presets.Preset, created: Sequence[str]) -> tuple[str, ...]:
    place = f"{preset.fields['applies_to']} {preset.fields['pattern']}".strip()
    methods = f", {preset.fields['methods']}" if preset.fields.get("methods") else ""
    limits = preset.rate + (" failed" if preset.fields.get("count_when") == "login_failed" else "")
    state = "saved in shadow" if preset.name in created else "a rule of the site" if preset.used_by else ""
    return preset.name, limits, preset.fields["key"], place + methods, state


RULES = Subcommand(
    "rules",
    "List the rules in the database and the rates in code, with mode, what they apply to, key and limits.",
    lambda options, stdout: stdout.write(listing()),
)
MODE = Subcommand(
    "mode",
    "Put a rule in shadow, enforce it or switch it off. This also works for a rule that refuses everybody in the admin.",
    _mode,
    [("rule", {"help": "its name"}), ("mode", {"choices": sorted(MODES, reverse=True)}), REASON],
)
SUGGEST = Subcommand(
    "suggest",
    "Propose a first set of rules for this site: for its logins, password resets, sign-ups, one-time codes and API, "
    "and for everything, each with its reason. With --create, save them in shadow, where they count and refuse nobody.",
    _suggest,
    [
        (
            "--create",
            {
                "nargs": "*",
                "metavar": "RULE",
                "help": "save these rules in shadow, each with the others for the same requests; without names, all that are new",
            },
        )
    ],
)
