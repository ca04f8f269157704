"""The arguments and the output of the commands `block` and `allow`."""

from collections.abc import Callable, Iterator
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError

from ratewindow.conf import time_zone
from ratewindow.models import Override
from ratewindow.operations.override_notes import notes
from ratewindow.overrides.subjects import EXAMPLES, in_words


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("identity", metavar="IDENTITY", help=f"such as {EXAMPLES}; '*' is everybody, with --rule and --for")
    parser.add_argument("--rule", default="", metavar="RULE", help="only this rule; default all rules")
    parser.add_argument("--for", dest="duration", metavar="DURATION", help="such as 1h or 2d; default without end")
    parser.add_argument("--reason", default="", help="why, for your colleagues")


def make(maker: Callable[..., Override], done: str, options: dict[str, Any]) -> str:
    """Make an override and return a description of it. Raises CommandError."""
    fields = {"rule": options["rule"], "reason": options["reason"], "source": "command"}
    try:
        override = maker(options["identity"], duration=options["duration"], **fields)
    except ValidationError as error:
        raise CommandError(" ".join(_sentences(error.message_dict))) from None
    except DatabaseError as error:
        raise CommandError(f"It could not be saved: {error}. Has manage.py migrate been run?") from None
    rule = f" from rule {override.rule}" if override.rule else ""
    return "\n".join([f"{done} {in_words(override.identity)}{rule}, {_until(override)}.", *notes(override, options["identity"])])


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
