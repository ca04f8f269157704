"""``manage.py ratewindow import``: add and change what a file names, after a preview."""

import sys
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.management.subcommands import document_files
from ratewindow.management.subcommands.off import who
from ratewindow.operations.documents import applying
from ratewindow.operations.documents.parsing import DocumentError
from ratewindow.operations.documents.site import VERSION, Document, site
from ratewindow.operations.other_limiters import django_ratelimit, django_smart_ratelimit, drf
from ratewindow.operations.other_limiters.found import translated

_PACKAGES: dict[str, Any] = {
    "django-ratelimit": django_ratelimit,
    "django-smart-ratelimit": django_smart_ratelimit,
    "drf": drf,
}

NAME = "import"
HELP = (
    "Add and change the rules, blocks and exemptions that a file names, and turn the switch if the file does, all or nothing. "
    "What the file does not name stays. Shows the changes first, and asks."
)


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("file", nargs="?", metavar="FILE", help="YAML or JSON, as export writes it; - is standard input")
    parser.add_argument(
        "--from",
        dest="package",
        choices=sorted(_PACKAGES),
        help="instead of a file, what the site's code limits by this package: adds rules in shadow that count the same beside it",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--yes", action="store_true", help="do not ask")
    group.add_argument("--dry-run", action="store_true", help="only show the changes")
    parser.add_argument("--reason", default="", help="why, for the history")


def run(options: dict[str, Any], stdout: Any) -> None:
    if (options["file"] is None) == (options["package"] is None):
        raise CommandError("Name a file, or a package with --from: one of the two.")
    name = options["file"] or options["package"]
    document = document_files.read(name) if options["package"] is None else _of_code(options["package"], stdout)
    try:
        changes = applying.preview(document)
        if not changes:
            stdout.write(f"Nothing to change: the site has everything that {name} has.")
            return
        document_files.show(changes, stdout)
        if options["dry_run"]:
            stdout.write(f"Nothing was changed. Without --dry-run: {document_files.counted(changes)}.")
            return
        if not options["yes"]:
            _ask(name)
        applying.apply(document, expected=changes, author=applying.Author(name=who()))
    except DocumentError as error:
        raise document_files.bad(name, error) from None
    except applying.SiteChanged:
        raise CommandError("Somebody has edited the site meanwhile: nothing was changed. Run this again.") from None
    except (DatabaseError, ImproperlyConfigured) as error:
        raise CommandError(f"The rules cannot be changed: {error}. Has manage.py migrate been run?") from None
    stdout.write(f"Imported {name}: {document_files.counted(changes)}.")


def _of_code(package: str, stdout: Any) -> Document:
    """The rules for what code limits; those whose name exists are left as they are. Says what no rule can do the same."""
    try:
        found = translated(_PACKAGES[package].find())
    except ImportError as error:
        raise CommandError(f"{package} is not installed here: {error}.") from None
    existing = {rule["name"]: rule for rule in site(["rules"], [rule["name"] for rule in found.rules])["rules"]}
    for sentence in found.left_out:
        stdout.write(f"Left out: {sentence}")
    for name in existing:
        stdout.write(f"Left out: {name}: there is a rule of this name, which stays as it is.")
    for name, sentence in found.notes:
        if name not in existing:
            stdout.write(f"Differs: {name}: {sentence}")
    return {"ratewindow": VERSION, "rules": [rule for rule in found.rules if rule["name"] not in existing]}


def _ask(name: str) -> None:
    """Go on only if somebody at a terminal says yes. Raises CommandError."""
    if name == document_files.STANDARD or not sys.stdin.isatty():
        raise CommandError("Nobody can be asked here, and nothing was changed. To make these changes, add --yes.")
    if input("Make these changes? [y/N] ").strip().lower() not in ("y", "yes"):
        raise CommandError("Nothing was changed.")
