"""``manage.py ratewindow apply``: make the site equal to a file, or check whether it is."""

from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.management.subcommands import document_files
from ratewindow.management.subcommands.off import who
from ratewindow.operations.documents import applying
from ratewindow.operations.documents.differences import in_text
from ratewindow.operations.documents.parsing import DocumentError

NAME = "apply"
HELP = (
    "Make the site equal to a file that export has written: add, change and delete what differs, all or nothing. Sections that "
    "the file lacks (rules, overrides, switch) stay as they are. Run twice, it changes nothing."
)


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("file", metavar="FILE", help="YAML or JSON; - is standard input")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit with 1 if the site differs, with 2 if the file cannot be used"
    )
    parser.add_argument("--yes", action="store_true", help="also if a rule would refuse staff in the admin")
    parser.add_argument("--reason", default="", help="why, for the history")


def run(options: dict[str, Any], stdout: Any) -> None:
    name = options["file"]
    document = document_files.read(name)
    try:
        changes = applying.preview(document, exact=True)
        if options["check"]:
            _report(name, changes, stdout)
            return
        if not options["yes"]:
            document_files.check_lockouts(changes)
        changes = applying.apply(document, exact=True, expected=changes, author=applying.Author(name=who()))
    except DocumentError as error:
        raise document_files.bad(name, error) from None
    except applying.SiteChanged:
        raise CommandError("Somebody has edited the site meanwhile: nothing was changed. Run this again.") from None
    except (DatabaseError, ImproperlyConfigured) as error:
        problem = f"The rules cannot be changed: {error}. Has manage.py migrate been run?"
        raise CommandError(problem, returncode=document_files.BAD_FILE if options["check"] else 1) from None
    if changes:
        stdout.write(in_text(changes))
    stdout.write(f"The site is as {name} says: {document_files.counted(changes) if changes else 'nothing had to be changed'}.")


def _report(name: str, changes: Any, stdout: Any) -> None:
    if not changes:
        stdout.write(f"The site is as {name} says.")
        return
    document_files.show(changes, stdout)
    raise CommandError(f"The site differs from {name}; apply would make these changes: {document_files.counted(changes)}.")
