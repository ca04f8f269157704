"""``manage.py ratewindow history``: who edited what, when, why, and each field before and after."""

import argparse
import json
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.conf import time_zone
from ratewindow.models import Edit
from ratewindow.operations.documents.differences import Change
from ratewindow.overrides.subjects import in_words

NAME = "history"
HELP = (
    "List the edits of rules, blocks and the switch, releases and recordings, the newest first: the number, when, who, by "
    "which way, why, and each field before and after."
)


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("rule", nargs="?", metavar="RULE", help="only the edits of this rule, also of one that was deleted")
    parser.add_argument("--limit", type=_number, default=20, metavar="N", help="how many; default 20")
    parser.add_argument("--json", action="store_true", help="one JSON object in each line, with all values before and after")


def run(options: dict[str, Any], stdout: Any) -> None:
    edits = Edit.objects.all()
    if options["rule"]:
        edits = edits.filter(kind__in=(Edit.Kind.RULE, Edit.Kind.RECORDING), subject=options["rule"])
    try:
        found = list(edits[: options["limit"]])
    except (DatabaseError, ImproperlyConfigured) as error:
        raise CommandError(f"The history cannot be read: {error}. Has manage.py migrate been run?") from None
    for edit in found:
        stdout.write(_as_json(edit) if options["json"] else _in_text(edit))
    if not found and not options["json"]:
        stdout.write("No edits yet.")


def _number(text: str) -> int:
    if not (text.isdecimal() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of edits: write for example 20")
    return int(text)


def _in_text(edit: Edit) -> str:
    """A line of who and when, then a line for each field."""
    change = Change(edit.kind, edit.before, edit.after)
    is_event = edit.kind in Edit.EVENTS
    if edit.kind == Edit.Kind.RELEASE:
        title = f"client {in_words(edit.subject)}"
    elif edit.kind == Edit.Kind.RECORDING:
        title = f"recording of {edit.subject}, {(edit.after or {}).get('limit')}, until {(edit.after or {}).get('until')}"
    else:
        title = change.title
    when = f"{time_zone.local(edit.at):%Y-%m-%d %H:%M:%S %Z}"
    by = f", by {edit.by}" if edit.by else ""
    head = f"{edit.pk}  {when}  {title} {edit.action}{by} ({edit.way}){f': {edit.reason}' if edit.reason else ''}"
    head = " ".join(head.splitlines())  # no text by others begins a line
    return head if is_event else "\n".join([head, *str(change).splitlines()[1:]])


def _as_json(edit: Edit) -> str:
    names = ("pk", "kind", "subject", "action", "by", "way", "reason", "before", "after")
    values = {name: getattr(edit, name) for name in names}
    return json.dumps({"at": edit.at.isoformat(), **values}, ensure_ascii=False)
