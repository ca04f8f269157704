"""The list of ``manage.py ratewindow rules --routes``: every route of the site with the rules that meet it."""

from ratewindow.conf import time_zone
from ratewindow.management.subcommands.table import table
from ratewindow.operations.coverage import Line, SiteCoverage, Urgency, site_coverage

HEADS = ("ROUTE", "PATH", "METHODS", "RULES")
_LACKS = {Urgency.LOGIN: "none: looks like a login", Urgency.WRITES: "none: changes data"}
_MODES = {"shadow": " (shadow)", "code": " (in code)"}


def listing() -> str:
    found = site_coverage()
    parts = [table(HEADS, [_row(line, found) for line in found.lines]) if found.lines else "The site has no routes."]
    parts += [f"Code names {name}, which nobody has defined: {', '.join(places)}" for name, places in found.undefined.items()]
    parts += [f"{doubt.text} {doubt.remedy}" for _, doubt in found.doubtful]
    if found.idle and found.since is not None:
        parts.append(f"Not met since {time_zone.local(found.since):%Y-%m-%d}: {', '.join(found.idle)}")
    return "\n".join(parts)


def _row(line: Line, found: SiteCoverage) -> tuple[str, ...]:
    rules = [f"{name}{_MODES.get(found.modes[name], '')}" for name in line.meets]
    rules += [f"perhaps {name}{_MODES.get(found.modes[name], '')}" for name in line.may_meet]
    return line.route.name, line.route.path, line.route.methods_in_words, ", ".join(rules) or _LACKS.get(line.urgency, "none")
