"""What the commands that make blocks and exemptions share: their arguments, and what they say."""

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
    parser.add_argument("--rule", default="", metavar="RULE", help="only this rule; all of them without")
    parser.add_argument("--for", dest="duration", metavar="DURATION", help="such as 1h or 2d; until it is ended without")
    parser.add_argument("--reason", default="", help="for people: why")


def make(maker: Callable[..., Override], done: str, options: dict[str, Any]) -> str:
    """What was made, in words. CommandError says what was wrong, and what to write instead."""
    given = {"rule": options["rule"], "reason": options["reason"], "source": "command"}
    try:
        override = maker(options["identity"], duration=options["duration"], **given)
    except ValidationError as error:
        raise CommandError(" ".join(_told(error.message_dict))) from None
    except DatabaseError as error:
        raise CommandError(f"It could not be saved: {error}. Has manage.py migrate been run?") from None
    rule = f" from rule {override.rule}" if override.rule else ""
    return "\n".join([f"{done} {in_words(override.identity)}{rule}, {_until(override)}.", *notes(override, options["identity"])])


_OPTIONS = {"rule": "--rule", "expires_at": "--for", "reason": "--reason"}


def _told(by_field: dict[str, list[str]]) -> Iterator[str]:
    """Each sentence once, with the options that it is about; the identity is what everything is about."""
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
