"""``manage.py ratewindow``, with a module for each subcommand, or an object with the same names."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, no_translations

from ratewindow.conf.in_escapes import in_escapes
from ratewindow.management.safe_output import SafeOutput
from ratewindow.management.subcommands import (
    alerts,
    apply,
    backtest,
    check,
    clean,
    collect,
    explain,
    export,
    history,
    import_,
    mode,
    off,
    on,
    release,
    replay,
    report,
    restore,
    rules,
    show,
    subject,
    suggest,
)
from ratewindow.management.subcommands.block_and_allow import ALLOW, BLOCK
from ratewindow.management.subcommands.off import who
from ratewindow.models import origin

SUBCOMMANDS: tuple[Any, ...] = (
    check,
    rules,
    suggest,
    mode,
    BLOCK,
    ALLOW,
    explain,
    show,
    release,
    off,
    on,
    export,
    import_,
    apply,
    history,
    restore,
    collect,
    alerts,
    report,
    clean,
    subject,
    backtest,
    replay,
)


class Command(BaseCommand):
    help = "Check, list and change rules, blocks and counts of rate limiting."
    requires_system_checks = ()  # "check" runs them; the others must work on a site with problems

    def add_arguments(self, parser: CommandParser) -> None:
        subparsers = parser.add_subparsers(dest="subcommand", required=True, metavar="SUBCOMMAND")
        for module in SUBCOMMANDS:
            subparser = subparsers.add_parser(
                module.NAME, aliases=_aliases(module), help=module.HELP.partition(". ")[0].rstrip("."), description=module.HELP
            )
            module.add_arguments(subparser)

    @no_translations
    def handle(self, *args: Any, subcommand: str, **options: Any) -> None:
        module = next(module for module in SUBCOMMANDS if subcommand in (module.NAME, *_aliases(module)))
        reason = options.get("reason") or ""
        with origin.edits(f"command {module.NAME}", by=who(), reason=reason):
            try:
                module.run(options, SafeOutput(self.stdout))
            except CommandError as error:
                raise CommandError(in_escapes(str(error)), returncode=error.returncode) from error.__cause__


def _aliases(module: Any) -> tuple[str, ...]:
    """Other names of a subcommand."""
    return getattr(module, "ALIASES", ())
