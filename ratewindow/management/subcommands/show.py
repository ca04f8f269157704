"""``manage.py ratewindow show``: how one client stands under each rule, once or again and again."""

import json
import time
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from redis.exceptions import RedisError

from ratewindow.conf import time_zone
from ratewindow.management.subcommands.quiet_log import quiet_log
from ratewindow.management.subcommands.table import table
from ratewindow.models import Override
from ratewindow.operations.explain.rule_in_words import frees_in, used
from ratewindow.operations.standing import Standing, UnderRule, standing
from ratewindow.overrides.as_typed import EXAMPLES, as_subject
from ratewindow.overrides.subjects import in_words
from ratewindow.rulebook import reading

NAME = "show"
HELP = (
    "Show how a client stands: what each rule has counted for it, when it has room again, and the blocks, exemptions and other "
    "rates in force. It counts nothing."
)
EVERY_S = 1.0
HEADS = ("RULE", "MODE", "USED", "FREE")
OVERRIDE_HEADS = ("IN FORCE", "RULE", "WHO", "UNTIL", "REASON")
PROBLEMS = (ImproperlyConfigured, RedisError, DatabaseError, OSError, ValueError)  # reported without a traceback


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("identity", metavar="IDENTITY", help=f"such as {EXAMPLES}; several parts are joined by +")
    parser.add_argument("--rule", default="", metavar="RULE", help="only this rule; default all rules")
    parser.add_argument("--watch", action="store_true", help=f"again every {EVERY_S:.0f} s, until interrupted")
    parser.add_argument("--json", action="store_true", help="one JSON object; with --watch one in each line")


def run(options: dict[str, Any], stdout: Any) -> None:
    try:
        with quiet_log():
            while True:
                text = _shown(options)
                if options["watch"]:
                    stdout.clear()
                stdout.write(text)
                if not options["watch"]:
                    return
                stdout.flush()
                time.sleep(EVERY_S)
    except KeyboardInterrupt:  # how a watch ends
        return
    except PROBLEMS as error:
        raise CommandError(f"Not shown: {error}") from None


def _shown(options: dict[str, Any]) -> str:
    reading.reload()
    identity = as_subject(options["identity"])
    found = standing(identity, options["rule"])
    return json.dumps(_values(identity, found), ensure_ascii=False) if options["json"] else _text(identity, found)


def _text(identity: str, found: Standing) -> str:
    paragraphs = [f"{in_words(identity)} at {time_zone.local(time_zone.now()):%H:%M:%S %Z}"]
    if found.overrides:
        paragraphs.append(table(OVERRIDE_HEADS, [_override_row(each) for each in found.overrides]))
    if found.away:
        paragraphs.append(f"Its counts are not known: Redis does not answer ({found.away}).")
    elif not found.counts:
        paragraphs.append("It is no single client, so it has no counts.")
    elif found.rules:
        paragraphs.append(table(HEADS, [_row(each) for each in found.rules]))
    if found.counts and not found.away:
        more = " more" if found.rules else ""
        paragraphs.append(f"Nothing is counted for it under {found.others}{more} rule{'' if found.others == 1 else 's'}.")
    return "\n".join(paragraphs)


def _row(under: UnderRule) -> tuple[str, ...]:
    return (under.rule.name, under.decision.mode, ", ".join(map(used, under.windows)), frees_in(under.decision))


def _override_row(override: Override) -> tuple[str, ...]:
    until = f"{time_zone.local(override.expires_at):%Y-%m-%d %H:%M}" if override.expires_at is not None else "for good"
    return (override.action, override.rule or "all", in_words(override.identity), until, override.reason)


def _values(identity: str, found: Standing) -> dict[str, Any]:
    return {
        "identity": identity,
        "away": found.away,
        "overrides": [
            {
                "action": each.action,
                "rule": each.rule,
                "identity": each.identity,
                "rate": each.rate,
                "expires_at": each.expires_at and each.expires_at.isoformat(),
                "reason": each.reason,
            }
            for each in found.overrides
        ],
        "rules": [
            {
                "rule": each.rule.name,
                "mode": each.decision.mode,
                "allowed": each.decision.allowed,
                "reason": each.decision.reason,
                "retry_after": each.decision.retry_after,
                "windows": [
                    {"rate": answer.window.text, "remaining": answer.remaining, "reset_after": answer.reset_ms / 1000}
                    for answer in each.windows
                ],
            }
            for each in found.rules
        ],
    }
