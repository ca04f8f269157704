"""A copy of the rules in Redis, for processes that start while the database is down; without blocks and exemptions.

It is signed with the SECRET_KEY: a rule's key may name a function of the site, and whoever can write to Redis must not choose
which.
"""

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from django.core import signing

from ratewindow import conf
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.limiter.types import Window
from ratewindow.rules.count_when import CountWhen
from ratewindow.rules.regex import check_regex
from ratewindow.rules.rule import Rule, check_name
from ratewindow.store import database, process_clients, state_keys

logger = logging.getLogger("ratewindow")

KEPT_S = 7 * 86_400  # after a process has read the rows


class Copy(NamedTuple):
    """Rules, and when they were read, in seconds since the epoch."""

    rules: list[Rule]
    read_at_s: float


def save(rules: Iterable[Rule]) -> None:
    """Save what this process has just read. RedisError or OSError if that fails."""
    if process_clients.in_memory():
        return
    text = signing.dumps({"read": time.time(), "rules": [_to_json(rule) for rule in rules]}, salt=_salt(), compress=True)
    with limited(conf.current().timeout_s):
        process_clients.patient_client().set(state_keys.rules(), text, ex=KEPT_S)


def load() -> Copy | None:
    """The newest copy; None if there is none or none that this site has signed."""
    if process_clients.in_memory():
        return None
    try:
        with limited(conf.current().timeout_s):
            text: Any = process_clients.patient_client().get(state_keys.rules())
        if not text:
            return None
        saved = signing.loads(text.decode(), salt=_salt())
        rules, wrong = [], []
        for each in saved["rules"]:
            try:
                rules.append(_from_json(each))
            except Exception as error:  # another version may have written what this one does not know
                wrong.append(f"{str(each)[:100]}: {error}")
        if wrong:
            logger.error("ratewindow: %d rules of the copy in Redis are left out, such as %s", len(wrong), wrong[0])
        return Copy(rules, min(float(saved["read"]), time.time()))
    except Exception as error:  # Redis is down, or another program has written there
        logger.warning("ratewindow: no copy of the rules can be read from Redis: %s: %s", type(error).__name__, error)
        return None


def _salt() -> str:
    return f"ratewindow rules {database.address()}"


def _to_json(rule: Rule) -> dict[str, Any]:
    values = {each.name: getattr(rule, each.name) for each in fields(Rule)}
    when = rule.count_when
    return {
        **values,
        "windows": _windows_to_json(rule.windows),
        "candidate": _windows_to_json(rule.candidate),
        "methods": sorted(rule.methods),
        "count_when": None if when is None else [when.login_failed, sorted(when.statuses)],
    }


def _windows_to_json(windows: Iterable[Window]) -> list[list[Any]]:
    return [[getattr(window, each.name) for each in fields(Window)] for window in windows]


def _from_json(values: Mapping[str, Any]) -> Rule:
    when = values["count_when"]
    rule = Rule(
        **{
            **values,
            "windows": tuple(Window(*each) for each in values["windows"]),
            "candidate": tuple(Window(*each) for each in values.get("candidate", ())),
            "methods": frozenset(values["methods"]),
            "count_when": None if when is None else CountWhen(when[0], frozenset(when[1])),
        }
    )
    check_name(rule.name)
    _ = rule.recipe, rule.state_names  # parsed here, so that a bad key is found here
    if rule.applies_to == "regex":
        check_regex(rule.pattern)
    return rule
