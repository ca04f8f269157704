"""``manage.py ratewindow explain``: what the limits make of a request, or of the code that a refused visitor reads."""

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError

from ratewindow.conf import time_zone
from ratewindow.contrib.explain import codes, words
from ratewindow.contrib.explain.explanation import Description, explain, pairs
from ratewindow.management.subcommand import Subcommand, table
from ratewindow.overrides.subjects import in_words
from ratewindow.rulebook import reading


def _explain(options: dict[str, Any], stdout: Any) -> None:
    try:
        reading.reload()
        stdout.write(_of_request(options) if options["path"] else _of_code(options["what"]))
    except ValueError as error:
        raise CommandError(f"Not explained: {error}") from None


def _of_request(options: dict[str, Any]) -> str:
    headers, fields = pairs(options["header"], ":"), pairs(options["field"], "=")
    explanation = explain(Description(options["what"], options["path"], options["ip"], options["user"], headers, fields))
    before = [f"{name}: {said}" for name, said in words.before_rules(explanation)]
    where = f"route {explanation.route}" if explanation.route else "which leads to no page"
    first = f"{explanation.request.method} {explanation.request.path_info}, {where}"
    lines = filter(None, [first, words.answer(explanation), words.in_shadow(explanation), *before])
    rows = [
        (
            line.rule.name,
            "in code" if line.in_code else line.rule.mode,
            str(words.EFFECTS[line.effect]),
            words.why(line),
            words.uses(line),
            words.frees(line),
        )
        for line in explanation.lines
    ]
    return "\n".join([*lines, "", table(("RULE", "MODE", "", "WHY", "USED", "FREE"), rows) if rows else "No rules."])


def _of_code(what: str) -> str:
    if what.isupper() and what.isalpha() and len(what) != codes.LENGTH:
        raise ValueError(f"{what} has no path: write for example explain {what} /login/ --ip 203.0.113.9")
    refused = codes.find(what)
    at = time_zone.to_second(datetime.fromtimestamp(refused.at_s, UTC))
    rows = [(by.rule, by.reason, by.window, in_words(by.identity)) for by in refused.by]
    first = f"{refused.code}: refused at {at}, on {refused.route or 'no request: code has asked'}"
    return f"{first}\n{table(('RULE', 'WHY', 'LIMIT', 'CLIENT'), rows)}"


EXPLAIN = Subcommand(
    NAME="explain",
    HELP="Explain what the limits make of a request: each rule that it matches, and why others do not; each window's use now, "
    "when it is free again, and the answer. Or what refused a visitor, by the code in the answer, within an hour. It counts "
    "nothing.",
    arguments=[
        ("what", {"metavar": "METHOD|CODE", "help": "the method, such as GET; or the code alone, such as k7f2q"}),
        ("path", {"nargs": "?", "default": "", "metavar": "PATH", "help": "such as /login/, or a whole URL"}),
        ("--ip", {"default": "", "metavar": "ADDRESS", "help": "the client's address"}),
        ("--user", {"default": "", "metavar": "USER", "help": "a login name or a number; default nobody"}),
        ("--header", {"action": "append", "default": [], "metavar": "'NAME: VALUE'", "help": "may be repeated"}),
        ("--field", {"action": "append", "default": [], "metavar": "NAME=VALUE", "help": "of the form; may be repeated"}),
    ],
    run=_explain,
)
