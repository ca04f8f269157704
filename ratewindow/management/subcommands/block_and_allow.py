"""``manage.py ratewindow block`` and ``allow``: block or exempt a client, a network, a group or a user."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.conf import time_zone
from ratewindow.models import Override
from ratewindow.operations.override_notes import notes
from ratewindow.overrides.as_typed import EXAMPLES, as_subject
from ratewindow.overrides.subjects import in_words


@dataclass(frozen=True)
class Subcommand:
    """A subcommand that makes an override, and says what it has `done`."""

    NAME: str
    HELP: str
    make: Callable[..., Override]
    done: str

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("identity", metavar="IDENTITY", help=f"such as {EXAMPLES}; '*' is everybody, with --rule and --for")
        parser.add_argument("--rule", default="", metavar="RULE", help="only this rule; default all rules")
        parser.add_argument("--for", dest="duration", metavar="DURATION", help="such as 1h or 2d; default without end")
        parser.add_argument("--reason", default="", help="why, for your colleagues")

    def run(self, options: dict[str, Any], stdout: Any) -> None:
        try:
            identity = as_subject(options["identity"])
            fields = {"rule": options["rule"], "reason": options["reason"], "source": "command"}
            override = self.make(identity, duration=options["duration"], **fields)
        except ValidationError as error:
            raise CommandError(" ".join(_sentences(error.message_dict))) from None
        except ValueError as error:
            raise CommandError(f"{error}.") from None
        except DatabaseError as error:
            raise CommandError(f"It could not be saved: {error}. Has manage.py migrate been run?") from None
        rule = f" from rule {override.rule}" if override.rule else ""
        stdout.write(f"{self.done} {in_words(override.identity)}{rule}, {_until(override)}.")
        for note in notes(override, identity):
            stdout.write(note)


BLOCK = Subcommand(
    "block",
    "Block a client, a network or a group: refuse all its requests, or with --rule those that meet that rule.",
    Override.objects.block,
    "Blocked",
)
ALLOW = Subcommand(
    "allow",
    "Exempt a client, a network or a group from all rules and blocks, or with --rule from that rule only.",
    Override.objects.allow,
    "Exempted",
)

_OPTIONS = {"rule": "--rule", "expires_at": "--for", "reason": "--reason"}


def _sentences(by_field: dict[str, list[str]]) -> Iterator[str]:
    """Each sentence once, after the options to which it belongs; one about the identity stands alone."""
    fields: dict[str, list[str]] = {}
    for field, sentences in by_field.items():
        for sentence in sentences:
            fields.setdefault(sentence, []).extend([_OPTIONS[field]] if field in _OPTIONS else [])
    for sentence, options in fields.items():
        yield f"{' and '.join(options)}: {sentence}" if options else sentence


def _until(override: Override) -> str:
    if override.expires_at is None:
        return "until somebody ends it"
    return f"until {time_zone.local(override.expires_at):%Y-%m-%d %H:%M:%S %Z}"
