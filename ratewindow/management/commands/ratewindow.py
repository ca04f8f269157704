"""``manage.py ratewindow``: the subcommands of the core, and of the rooms that the site has installed."""

from functools import partial
from pkgutil import resolve_name
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow import rooms
from ratewindow.conf.in_words import in_escapes
from ratewindow.limiter.problem import Problem
from ratewindow.management.subcommand import SafeOutput, Subcommand
from ratewindow.management.subcommands import clients, limiting, rules
from ratewindow.models import origin
from ratewindow.store.shared_prefix import SharedPrefix

PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError, SharedPrefix, Problem)  # reported without a traceback

OF_THE_CORE = (
    limiting.CHECK,
    rules.RULES,
    rules.SUGGEST,
    rules.MODE,
    clients.BLOCK,
    clients.ALLOW,
    clients.SHOW,
    clients.RELEASE,
    limiting.OFF,
    limiting.ON,
    limiting.COLLECT,
    limiting.CLEAN,
)


def subcommands() -> list[Subcommand]:
    return [*OF_THE_CORE, *(resolve_name(path) for room in rooms.installed() for path in room.subcommands.values())]


class Command(BaseCommand):
    help = "Check, list and change rules, blocks and counts of rate limiting."
    requires_system_checks = ()  # "check" runs them; the others must work on a site with problems

    def add_arguments(self, parser: CommandParser) -> None:
        subparsers = parser.add_subparsers(dest="subcommand", required=True, metavar="SUBCOMMAND")
        for each in subcommands():
            first_sentence = each.HELP.partition(". ")[0].rstrip(".")
            subparser = subparsers.add_parser(each.NAME, aliases=each.ALIASES, help=first_sentence, description=each.HELP)
            for name, options in each.arguments:
                subparser.add_argument(name, **options)
        for room in (room for room, is_installed in rooms.known() if not is_installed):
            for name in room.subcommands:
                parser_of_absent = subparsers.add_parser(name, help=f"needs {room.name}")
                parser_of_absent.parse_known_args = partial(_say_how_to_install, room.name, parser_of_absent)  # type: ignore[method-assign, assignment]

    @no_translations
    def handle(self, *args: Any, subcommand: str, **options: Any) -> None:
        asked = next(each for each in subcommands() if subcommand in (each.NAME, *each.ALIASES))
        with origin.edits(f"command {asked.NAME}", by=limiting.who(), reason=options.get("reason") or ""):
            try:
                asked.run(options, SafeOutput(self.stdout._out))  # type: ignore[arg-type]
            except CommandError as error:
                raise CommandError(in_escapes(str(error)), returncode=error.returncode) from error.__cause__
            except PROBLEMS as error:
                hint = ". Has manage.py migrate been run?" if isinstance(error, DatabaseError) else ""
                raise CommandError(in_escapes(f"{error}{hint}")) from None


def _say_how_to_install(room: str, parser: CommandParser, *_: Any) -> None:
    parser.error(f'this needs one more app. Write in settings.py: INSTALLED_APPS += ["{room}"]')
