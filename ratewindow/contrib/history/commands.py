"""``manage.py ratewindow history``, ``restore``, ``export``, ``import`` and ``apply``: edits and back, and rules as files."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import DatabaseError

from ratewindow.contrib.history import files, values
from ratewindow.contrib.history.models import Edit
from ratewindow.contrib.history.words import Entry
from ratewindow.management.subcommand import REASON, Subcommand
from ratewindow.models import RateRule

BAD_FILE = 2  # the exit status
STANDARD = "-"  # standard input or output


def _history(options: dict[str, Any], stdout: Any) -> None:
    if options["limit"] < 1:
        raise CommandError("--limit: write for example 20")
    edits = Edit.objects.all()
    if options["rule"]:
        edits = edits.filter(kind=Edit.Kind.RULE, subject=options["rule"])
    with _failing("history"):
        texts = [_in_text(edit) for edit in edits[: options["limit"]]]
    stdout.write("\n".join(texts or ["No edits yet."]))


def _in_text(edit: Edit) -> str:
    """A line of who and when, then a line for each field."""
    by = f", by {edit.by}" if edit.by else ""
    reason = f": {edit.reason}" if edit.reason else ""
    entry = Entry.of(edit)
    head = f"{edit.pk}  {entry.clock}  {entry.title} {edit.action}{by} ({edit.way}){reason}"
    return "\n".join([" ".join(head.splitlines()), *entry.text_lines])


def _restore(options: dict[str, Any], stdout: Any) -> None:
    with _failing("What the edit has"):
        change = values.undoing(_chosen(options["edit"], options["rule"]))
        if change is None:
            stdout.write("Nothing to restore: it is so already.")
            return
        _make([change], "restore this", options, stdout)
    stdout.write(f"Restored: {_counted([change])}.")


def _chosen(pk: int | None, rule: str) -> Edit:
    edits = Edit.objects.exclude(kind=Edit.Kind.RELEASE) if pk is None else Edit.objects.filter(pk=pk)
    edit = edits.filter(kind=Edit.Kind.RULE, subject=rule).first() if rule else edits.first()
    if edit is None:
        raise CommandError("There is no such edit: manage.py ratewindow history lists them.")
    if not edit.is_restorable:
        raise CommandError(f"Edit {edit.pk} is a release, which cannot be taken back: its counts are deleted.")
    return edit


def _export(options: dict[str, Any], stdout: Any) -> None:
    name = options["file"]
    by_name = files.YAML if name.lower().endswith((".yaml", ".yml")) else files.JSON
    with _failing(name):
        rules = RateRule.objects.prefetch_related("windows")
        data = files.write(rules, options["format"] or by_name)
    _write(name, data, stdout)
    if name != STANDARD:
        stdout.write(f"{name} has {len(rules)} rules.")


def _write(name: str, data: bytes, stdout: Any) -> None:
    """Write the file, or the same bytes to standard output."""
    if name != STANDARD:
        try:
            Path(name).write_bytes(data)
        except OSError as error:
            raise CommandError(f"{name} cannot be written: {error.strerror or error}") from None
    elif (buffer := getattr(stdout, "buffer", None)) is not None:  # whatever the terminal's encoding and line ends are
        buffer.write(data)
    else:
        stdout.write(data.decode(), ending="")


def _import(options: dict[str, Any], stdout: Any) -> None:
    name = options["file"]
    with _failing(name):
        changes = files.changes(_read(name))
        if not changes:
            stdout.write(f"Nothing to change: the site has everything that {name} has.")
            return
        _make(changes, "make these changes", options, stdout)
    stdout.write(f"Imported {name}: {_counted(changes)}.")


def _apply(options: dict[str, Any], stdout: Any) -> None:
    name = options["file"]
    with _failing(name, BAD_FILE if options["check"] else 1):
        changes = files.changes(_read(name), exact=True)
        if changes:
            _show(changes, stdout)
        if changes and options["check"]:
            raise CommandError(f"The rules differ from {name}; apply would make these changes: {_counted(changes)}.")
        values.apply(changes)
    stdout.write(f"The rules are as {name} says: {_counted(changes) if changes else 'nothing had to be changed'}.")


@contextmanager
def _failing(name: str, status_without_database: int = 1) -> Iterator[None]:
    """Turn what may go wrong with this file, or whatever `name` says, into a CommandError."""
    try:
        yield
    except values.InvalidValues as error:
        raise CommandError(f"{name} cannot be used, nothing was changed:\n{error}", returncode=BAD_FILE) from None
    except values.ChangedMeanwhile:
        raise CommandError("Somebody has edited the site meanwhile: nothing was changed. Run this again.") from None
    except (DatabaseError, ImproperlyConfigured) as error:
        raise CommandError(
            f"The rules cannot be read or changed: {error}. Has manage.py migrate been run?", returncode=status_without_database
        ) from None


def _read(name: str) -> list[Any]:
    """The rules in the file, not checked yet. Raises InvalidValues."""
    try:
        return files.read(sys.stdin.buffer.read() if name == STANDARD else Path(name).read_bytes())
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror or error}", returncode=BAD_FILE) from None


def _make(changes: Sequence[Edit], what: str, options: dict[str, Any], stdout: Any) -> None:
    _show(changes, stdout)
    if not options["yes"]:
        raise CommandError(f"Nothing was changed. To {what}, add --yes.")
    values.apply(changes)


def _show(changes: Sequence[Edit], stdout: Any) -> None:
    stdout.write("\n".join(Entry.of(change).in_text() for change in changes))


def _counted(changes: Sequence[Edit]) -> str:
    """``2 added, 1 changed, 0 deleted``."""
    actions = (Edit.Action.ADDED, Edit.Action.CHANGED, Edit.Action.DELETED)
    return ", ".join(f"{sum(change.action == action for change in changes)} {action.value}" for action in actions)


HISTORY = Subcommand(
    NAME="history",
    HELP="List the edits of rules, blocks and the switch, and releases, the newest first: the number, when, who, by which way, "
    "why, and each field before and after.",
    arguments=[
        ("rule", {"nargs": "?", "metavar": "RULE", "help": "only the edits of this rule, also of one that was deleted"}),
        ("--limit", {"type": int, "default": 20, "metavar": "N", "help": "how many; default 20"}),
    ],
    run=_history,
)
RESTORE = Subcommand(
    NAME="restore",
    HELP="Restore what an edit changed as it was before that edit. Without --yes it only shows what would change. A restore is "
    "an edit, too, and can be undone.",
    arguments=[
        ("edit", {"nargs": "?", "type": int, "metavar": "ID", "help": "the number of an edit, from history; default the last"}),
        ("--rule", {"default": "", "metavar": "RULE", "help": "without a number: the last edit of this rule"}),
        ("--yes", {"action": "store_true", "help": "restore; without it only show what would change"}),
        REASON,
    ],
    run=_restore,
)
EXPORT = Subcommand(
    NAME="export",
    HELP="Write the rules to a file, which import and apply read. The same rules always give the same bytes.",
    arguments=[
        ("file", {"nargs": "?", "default": STANDARD, "metavar": "FILE", "help": "default standard output"}),
        ("--format", {"choices": (files.JSON, files.YAML), "help": "default as FILE ends, else json"}),
    ],
    run=_export,
)
IMPORT = Subcommand(
    NAME="import",
    HELP="Add and change the rules that a file names, all or none; other rules stay. Without --yes it only shows the changes.",
    arguments=[
        ("file", {"metavar": "FILE", "help": "JSON or YAML, as export writes it; - is standard input"}),
        ("--yes", {"action": "store_true", "help": "make the changes; without it they are only shown"}),
        REASON,
    ],
    run=_import,
)
APPLY = Subcommand(
    NAME="apply",
    HELP="Make the rules equal to a file that export has written: add, change and delete what differs, all or none. Run twice, "
    "it changes nothing.",
    arguments=[
        ("file", {"metavar": "FILE", "help": "JSON or YAML; - is standard input"}),
        (
            "--check",
            {"action": "store_true", "help": "change nothing; exit with 1 if rules differ, with 2 if the file is unusable"},
        ),
        REASON,
    ],
    run=_apply,
)
