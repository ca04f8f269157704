"""``manage.py ratewindow restore``: undo an edit, or restore everything as it was at a time."""

from datetime import datetime
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from django.utils.dateparse import parse_datetime

from ratewindow.conf import time_zone
from ratewindow.management.subcommands import document_files
from ratewindow.management.subcommands.off import who
from ratewindow.models import Edit, origin
from ratewindow.operations.documents.applying import Author, SiteChanged
from ratewindow.operations.documents.parsing import DocumentError
from ratewindow.operations.history import restoring
from ratewindow.operations.history.recording import Subject
from ratewindow.operations.history.states import State

NAME = "restore"
HELP = (
    "Restore what an edit changed as it was before that edit, or everything as it was at a time. Without --yes it only shows "
    "what would change. A restore is an edit, too, and can be undone."
)


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument(
        "point", metavar="ID|TIME", help="the number of an edit, from history, or a time such as 2026-01-31T12:00"
    )
    parser.add_argument("--rule", default="", metavar="RULE", help="with a time: only this rule")
    parser.add_argument("--after", action="store_true", help="with a number: as it was after that edit")
    parser.add_argument("--yes", action="store_true", help="restore; without it only show what would change")
    parser.add_argument("--reason", default="", help="why, for the history")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        wanted = _wanted(options)
        steps = restoring.steps(wanted)
        if not steps:
            stdout.write("Nothing to restore: it is so already.")
            return
        changes = [step.change for step in steps]
        document_files.show(changes, stdout)
        if not options["yes"]:
            raise CommandError("Nothing was changed. To restore this, add --yes.")
        with origin.edits(restoring.WAY, by=who(), reason=options["reason"]):
            restoring.restore(wanted, steps, Author(source=restoring.WAY, name=who()))
    except SiteChanged:
        raise CommandError("Somebody has edited the site meanwhile: nothing was changed. Run this again.") from None
    except DocumentError as error:
        raise CommandError(f"Nothing was restored, since these values are no longer valid:\n{error}") from None
    except (DatabaseError, ImproperlyConfigured) as error:
        raise CommandError(f"The rules cannot be changed: {error}. Has manage.py migrate been run?") from None
    stdout.write(f"Restored: {document_files.counted(changes)}.")


def _wanted(options: dict[str, Any]) -> State:
    if options["point"].isdigit():
        edit = Edit.objects.filter(pk=options["point"]).first()
        if edit is None:
            raise CommandError(f"There is no edit {options['point']}: manage.py ratewindow history lists them.")
        if edit.kind == Edit.Kind.RECORDING:
            raise CommandError(f"Edit {edit.pk} is of a recording: end it, or go on, on the page of the rule.")
        if edit.kind == Edit.Kind.RELEASE:
            raise CommandError(f"Edit {edit.pk} is a release, which cannot be taken back: its counts are deleted.")
        return restoring.after(edit) if options["after"] else restoring.before(edit)
    state = restoring.everything_at(_moment(options["point"]))
    if not options["rule"]:
        return state
    subject = Subject(Edit.Kind.RULE, options["rule"])
    if subject not in state:
        raise CommandError(f"The history knows no rule {options['rule'][:64]!r}: manage.py ratewindow history lists its edits.")
    return {subject: state[subject]}


def _moment(text: str) -> datetime:
    try:
        moment = parse_datetime(text)
    except ValueError:
        moment = None
    if moment is None:
        raise CommandError(f"{text[:64]!r} is neither the number of an edit nor a time: write for example 2026-01-31T12:00.")
    return time_zone.aware(moment)
