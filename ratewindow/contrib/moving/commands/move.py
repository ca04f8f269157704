"""``manage.py ratewindow move``: add rules in shadow that count the same beside the limits of another package."""

from typing import Any

from django.core.management.base import CommandError
from django.db import router, transaction

from ratewindow.contrib.moving.importers import allauth, axes, device_cookies, django_ratelimit, drf
from ratewindow.contrib.moving.importers.limits import Definition, translated
from ratewindow.management.subcommand import Subcommand
from ratewindow.models import RateRule

_PACKAGES: dict[str, Any] = {
    "allauth": allauth,
    "axes": axes,
    "device-cookies": device_cookies,
    "django-ratelimit": django_ratelimit,
    "drf": drf,
}


def _move(options: dict[str, Any], stdout: Any) -> None:
    package = options["package"]
    try:
        rules = _new_rules(package, stdout)
        if not rules:
            stdout.write(f"Nothing to add: the site has a rule for everything that {package} limits.")
            return
        stdout.write("\n".join(f"+ {rule}" for rule in rules))
        if not options["yes"]:
            raise CommandError("Nothing was changed. To add these rules, add --yes.")
        with transaction.atomic(using=router.db_for_write(RateRule)):
            for name, rate, fields in rules:
                RateRule.objects.define(name, rate, **fields)
    except ImportError as error:
        raise CommandError(f"{package} is not installed here: {error}.") from None
    except ValueError as error:
        raise CommandError(f"Nothing was changed: {error}") from None
    stdout.write(f"Added in shadow: {len(rules)}.")


def _new_rules(package: str, stdout: Any) -> list[Definition]:
    """The rules for what code limits, without those whose name exists. Says what no rule can do the same."""
    found = translated(_PACKAGES[package].find())
    existing = set(RateRule.objects.filter(name__in=[rule.name for rule in found.rules]).values_list("name", flat=True))
    for sentence in found.left_out:
        stdout.write(f"Left out: {sentence}")
    for name in sorted(existing):
        stdout.write(f"Left out: {name}: there is a rule of this name, which stays as it is.")
    for name, sentence in found.notes:
        if name not in existing:
            stdout.write(f"Differs: {name}: {sentence}")
    return [rule for rule in found.rules if rule.name not in existing]


MOVE = Subcommand(
    NAME="move",
    HELP="Add rules in shadow that count the same as what the site's code or settings limit by another package, which goes on "
    "limiting. Rules that exist stay. Without --yes it only shows what it would add.",
    arguments=[
        ("package", {"choices": sorted(_PACKAGES), "metavar": "PACKAGE", "help": ", ".join(sorted(_PACKAGES))}),
        ("--yes", {"action": "store_true", "help": "add the rules; without it they are only shown"}),
        ("--reason", {"default": "", "help": "why, for the history"}),
    ],
    run=_move,
)
