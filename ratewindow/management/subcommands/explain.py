"""``manage.py ratewindow explain``: what the limits make of a request, or of the code that a refused visitor reads."""

import json
import shlex
from datetime import UTC, datetime
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow.conf import time_zone
from ratewindow.management.subcommands.quiet_log import quiet_log
from ratewindow.management.subcommands.table import table
from ratewindow.operations.explain import as_values, by_code, in_words, rule_in_words
from ratewindow.operations.explain.explanation import Asked, Explanation, Line, explain
from ratewindow.overrides.subjects import in_words as identity_in_words
from ratewindow.reporting.codes import Refusal
from ratewindow.rulebook import reading

NAME = "explain"
HELP = (
    "Explain what the limits make of a request: each rule that it meets, and why others do not; each window's use now, when it "
    "is free again, and the answer. Or what refused a visitor, by the code in the answer, within an hour. It counts nothing."
)
HEADS = ("RULE", "MODE", "", "WHY", "USED", "FREE")
PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError, ValueError)  # reported without a traceback


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("what", metavar="METHOD|CODE", help="the method, such as GET; or the code alone, such as k7f2q")
    parser.add_argument("path", nargs="?", default="", metavar="PATH", help="such as /login/, or a whole URL")
    parser.add_argument("--ip", default="", metavar="ADDRESS", help="the client's address")
    parser.add_argument("--user", default="", metavar="USER", help="a login name, an e-mail address or a number; default nobody")
    parser.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="may be repeated")
    parser.add_argument("--field", action="append", default=[], metavar="NAME=VALUE", help="of the form; may be repeated")
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        with quiet_log():
            reading.reload()
            text = _of_request(options) if options["path"] else _of_code(options)
    except PROBLEMS as error:
        raise CommandError(f"Not explained: {error}") from None
    stdout.write(text)


def _of_request(options: dict[str, Any]) -> str:
    headers = dict(_pair(each, ":", "--header 'X-Api-Key: VALUE'") for each in options["header"])
    fields = dict(_pair(each, "=", "--field username=ann") for each in options["field"])
    found = explain(Asked(options["what"], options["path"], options["ip"], options["user"], headers, fields))
    return json.dumps(as_values.of(found), ensure_ascii=False) if options["json"] else _in_text(found)


def _pair(text: str, separator: str, example: str) -> tuple[str, str]:
    name, found, value = text.partition(separator)
    if not found:
        raise ValueError(f"{text!r} has no {separator!r}: write for example {example}")
    return name.strip(), value.strip()


def _in_text(found: Explanation) -> str:
    where = f"{found.method} {found.path}, {f'route {found.route}' if found.route else 'which leads to no page'}"
    steps = [f"{name}: {said}" for name, said in in_words.steps(found)]
    rows = [_row(line) for line in found.lines]
    lines = [where, in_words.answer(found), in_words.with_shadow(found), "", *steps]
    return "\n".join([*filter(None, lines), *(["", table(HEADS, rows)] if rows else ["No rules."])])


def _row(line: Line) -> tuple[str, ...]:
    mode = "in code" if line.in_code else line.rule.mode
    return (
        line.rule.name,
        mode,
        str(rule_in_words.EFFECTS[line.effect]),
        rule_in_words.why(line),
        rule_in_words.uses(line),
        rule_in_words.frees(line),
    )


def _of_code(options: dict[str, Any]) -> str:
    if options["what"].isupper() and options["what"].isalpha() and len(options["what"]) != 5:
        raise ValueError(f"{options['what']} has no path: write for example explain {options['what']} /login/ --ip 203.0.113.9")
    refusal = by_code.find(options["what"])
    if refusal is None:
        raise ValueError(f"no refusal with the code {options['what']} is known. {by_code.why_unknown()}")
    return json.dumps(as_values.of_refusal(refusal), ensure_ascii=False) if options["json"] else _refusal_in_text(refusal)


def _refusal_in_text(refusal: Refusal) -> str:
    at = time_zone.local(datetime.fromtimestamp(refusal.at_s, UTC))
    rows = [(each.rule, each.reason, each.window, identity_in_words(each.identity)) for each in refusal.by]
    asked = by_code.asked_of(refusal)
    again = _command(asked) if asked is not None else ""
    return "\n".join(
        filter(
            None,
            [
                f"{refusal.code}: refused at {at:%Y-%m-%d %H:%M:%S %Z}, on {refusal.route or 'no request: code has asked'}",
                table(("RULE", "WHY", "LIMIT", "CLIENT"), rows),
                f"Now: {again}" if again else "",
            ],
        )
    )


def _command(asked: Asked) -> str:
    """The command that explains the same request as of now. Quoted, since clients choose what they send."""
    words = ["manage.py", "ratewindow", "explain", asked.method, asked.path]
    words += ["--ip", asked.address] if asked.address else []
    words += ["--user", asked.user] if asked.user else []
    for name, value in asked.headers.items():
        words += ["--header", f"{name}: {value}"]
    for name, value in asked.fields.items():
        words += ["--field", f"{name}={value}"]
    return shlex.join(words)
