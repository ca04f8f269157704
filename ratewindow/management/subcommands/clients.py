"""The subcommands about one client: ``show`` how it stands, ``block`` or ``allow`` it, and ``release`` it."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError

from ratewindow.conf import time_zone
from ratewindow.management.subcommand import REASON, Subcommand, table
from ratewindow.models import Override
from ratewindow.operations.clients import free, release, standing, used
from ratewindow.overrides.subjects import EXAMPLES, as_subject, in_words
from ratewindow.rulebook import reading

EVERY_S = 1.0


CLIENT = (
    ("identity", {"metavar": "IDENTITY", "help": f"such as {EXAMPLES}; several parts are joined by +"}),
    ("--rule", {"default": "", "metavar": "RULE", "help": "only this rule; default all rules"}),
)
DURATION = ("--for", {"dest": "duration", "metavar": "DURATION", "help": "such as 1h or 2d; default without end"})


def _show(options: dict[str, Any], stdout: Any) -> None:
    stdout.write(_shown(options["identity"], options["rule"]))
    with suppress(KeyboardInterrupt):  # how a watch ends
        while options["watch"]:
            stdout.flush()
            time.sleep(EVERY_S)
            stdout.write(_shown(options["identity"], options["rule"]))


def _shown(typed: str, rule: str) -> str:
    reading.reload()
    identity = as_subject(typed)
    now = standing(identity, rule)
    overrides = [(each.action, each.rule or "all", in_words(each.identity), each.until(), each.reason) for each in now.overrides]
    counts = [(each.rule, each.mode, ", ".join(used(each)), free(each)) for each in now.rules]
    paragraphs = [
        f"{in_words(identity)} at {time_zone.local(time_zone.now()):%H:%M:%S %Z}",
        table(("IN FORCE", "RULE", "WHO", "UNTIL", "REASON"), overrides) if overrides else "",
        table(("RULE", "MODE", "USED", "FREE"), counts) if counts else "",
        now.note,
    ]
    return "\n".join(filter(None, paragraphs))


def _override(make: Callable[..., Override], done: str, options: dict[str, Any], stdout: Any) -> None:
    try:
        override = make(
            as_subject(options["identity"]),
            duration=options["duration"],
            rule=options["rule"],
            reason=options["reason"],
            source="command",
        )
    except ValidationError as error:
        raise CommandError(" ".join(dict.fromkeys(error.messages))) from None
    rule = f" from rule {override.rule}" if override.rule else ""
    stdout.write(f"{done} {in_words(override.identity)}{rule}, {override.until()}.")
    if note := override.unknown_name():
        stdout.write(note)


def _release(options: dict[str, Any], stdout: Any) -> None:
    reading.reload()
    released = release(as_subject(options["identity"]), options["rule"])
    if released.failure:
        raise CommandError(released.in_words())
    stdout.write(released.in_words())


SHOW = Subcommand(
    "show",
    "Show how a client stands: what each rule has counted for it, when it has room again, and the blocks, exemptions and other "
    "rates in force. It counts nothing.",
    _show,
    [*CLIENT, ("--watch", {"action": "store_true", "help": f"again every {EVERY_S:.0f} s, until interrupted"})],
)
BLOCK = Subcommand(
    "block",
    "Block a client, a network or a group: refuse all its requests, or with --rule those that match that rule. '*' is everybody, "
    "with --rule and --for.",
    partial(_override, Override.objects.block, "Blocked"),
    [*CLIENT, REASON, DURATION],
)
ALLOW = Subcommand(
    "allow",
    "Exempt a client, a network or a group from all rules and blocks, or with --rule from that rule only.",
    partial(_override, Override.objects.allow, "Exempted"),
    [*CLIENT, REASON, DURATION],
)
RELEASE = Subcommand(
    "release",
    "Release a client: delete its counts and penalties under every rule or one, and end the blocks that name it.",
    _release,
    [*CLIENT, REASON],
    ("reset",),
)
