"""Files of documents, as the commands `export`, `import` and `apply` read and write them, and their changes in words."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ratewindow.operations import lockout
from ratewindow.operations.documents import text
from ratewindow.operations.documents.differences import ADDED, CHANGED, REMOVED, Change, in_text
from ratewindow.operations.documents.lockouts import new_lockouts
from ratewindow.operations.documents.parsing import DocumentError

BAD_FILE = 2  # the exit status
STANDARD = "-"  # standard input or output


def read(name: str) -> Any:
    """What the file says, not checked yet. Raises CommandError."""
    try:
        data = sys.stdin.buffer.read() if name == STANDARD else Path(name).read_bytes()
        return text.from_bytes(data)
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror or error}", returncode=BAD_FILE) from None
    except text.NoYaml as error:
        raise CommandError(str(error), returncode=BAD_FILE) from None
    except DocumentError as error:
        raise bad(name, error) from None


def write(name: str, data: bytes, stdout: Any) -> None:
    """Write the file, or the same bytes to standard output. Raises CommandError."""
    if name != STANDARD:
        try:
            Path(name).write_bytes(data)
        except OSError as error:
            raise CommandError(f"{name} cannot be written: {error.strerror or error}") from None
    elif (buffer := getattr(stdout, "buffer", None)) is not None:  # whatever the terminal's encoding and line ends are
        buffer.write(data)
        buffer.flush()
    else:
        stdout.write(data.decode(), ending="")


def bad(name: str, error: DocumentError) -> CommandError:
    return CommandError(f"{name} cannot be used, nothing was changed:\n{error}", returncode=BAD_FILE)


def show(changes: Sequence[Change], stdout: Any) -> None:
    """Print the changes, the lockouts that they cause, and how many there are."""
    stdout.write(in_text(changes))
    for found in new_lockouts(changes):
        stdout.write(f"Careful: {found} {lockout.REMEDY}")


def check_lockouts(changes: Sequence[Change]) -> None:
    """Raise CommandError if a change would lock staff out."""
    if found := [str(each) for each in new_lockouts(changes)]:
        raise CommandError(
            f"{' '.join(found)} {lockout.REMEDY} Nothing was changed. To make these changes all the same, add --yes."
        )


def counted(changes: Sequence[Change]) -> str:
    """``2 added, 1 changed, 0 removed``."""
    return ", ".join(f"{sum(change.kind == kind for change in changes)} {kind}" for kind in (ADDED, CHANGED, REMOVED))
