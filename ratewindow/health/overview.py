"""Whether limiting works: for a monitor, for the admin's banner and for ``manage.py ratewindow check``.

``status()`` costs a few round trips to Redis, each with the time limit of a decision, none while Redis is known to be
silent, and no SQL. It never raises. From an async view call it by ``sync_to_async``.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ratewindow import conf
from ratewindow.health import processes
from ratewindow.health.process_record import moment
from ratewindow.request import without_redis
from ratewindow.rulebook import kill_switch, reading
from ratewindow.rules.kill_switch import clock
from ratewindow.store import malformed, process_clients, server_info
from ratewindow.store.failures import FEW

logger = logging.getLogger("ratewindow")

MISSED_S = 120.0  # for so long a silent process is a problem, and then a warning

Process = dict[str, Any]


def status() -> dict[str, Any]:
    """The state of the limiter as JSON can say it; ``ok`` is False while it is degraded.

    ``state`` is ``ok`` or ``degraded``, ``since`` when that began, by ISO 8601, and ``summary`` says it in a sentence.
    ``problems`` are what makes it degraded, ``warnings`` what will one day. ``store`` describes the server, ``processes``
    every process that has told of itself: one whose ``breaker`` is ``silent`` has told nothing for seconds. ``fallback``
    is how many decisions the running processes made without the store, by cause. ``rules`` and ``switch`` are as this
    process knows them. While Redis is silent this process knows of no other.
    """
    try:
        return _status()
    except Exception as error:  # a monitor shall be told, not fail
        logger.exception("ratewindow: the state of the limiter cannot be told")
        problem = f"The state cannot be told: {type(error).__name__}: {error}"
        return {"ok": False, "state": "degraded", "since": None, "summary": problem, "problems": [problem]}


def _status() -> dict[str, Any]:
    store, found = look()
    held = reading.status()
    problems = _problems(store, found, held.error)
    since = min((each["degraded_since"] for each in found if each.get("degraded_since")), default=None) if problems else None
    return {
        "ok": not problems,
        "state": "degraded" if problems else "ok",
        "since": since,
        "summary": " ".join(problems) if problems else _all_well(found),
        "problems": problems,
        "warnings": [
            *server_info.warnings(store),
            *_failing(found, serious=False),
            *_missed(found, long=True),
            *_sharing(found),
            *_warnings(found),
            *_odd(),
        ],
        "policy": without_redis.in_words(),
        "store": store,
        "processes": found,
        "fallback": dict(sum((Counter(each.get("fallback") or {}) for each in found), Counter())),
        "rules": {"count": held.rules, "read": moment(held.read_at_s), "error": held.error},
        "switch": _switch(),
    }


def look(*, at_server: bool = True) -> tuple[dict[str, Any], list[Process]]:
    """What the server tells, and the processes, this one among them; without asking while Redis is known to be silent."""
    own = processes.own()
    if process_clients.in_memory():
        return {"address": "memory://", "reachable": True, "error": "", "server": "memory"}, [own]
    if own["breaker"] == "open" and own["servers"] == ["Redis"]:
        return server_info.unasked(own["error"]), [own]
    try:
        client = process_clients.client()
        store = server_info.ask(client) if at_server else {"reachable": True}
        others = processes.told(client)
    except Exception as error:  # a server, an address or a name server: whatever it is, it does not answer
        return server_info.unasked(f"{type(error).__name__}: {error}"), [own]
    me = (own["host"], own["pid"])
    return store, [*(each for each in others if (each["host"], each["pid"]) != me), own]


class Glance(NamedTuple):
    """What a page needs to know before it asks Redis for more."""

    problems: list[str]
    reachable: bool


def glance() -> Glance:
    """The problems of `status`, without asking the server about itself."""
    try:
        store, found = look(at_server=False)
        return Glance(_problems(store, found, reading.status().error), store["reachable"])
    except Exception as error:
        logger.exception("ratewindow: the state of the limiter cannot be told")
        return Glance([f"The state of the limits cannot be told: {type(error).__name__}: {error}"], reachable=False)


def _problems(store: dict[str, Any], found: Sequence[Process], rules_error: str) -> list[str]:
    told = []
    away = [each for each in found if each["breaker"] == "open"]
    if away:
        told.append(_away(away, len(found)))
    elif not store["reachable"]:
        told.append(f"Redis does not answer here ({store['error']}): {without_redis.in_words()} where it does not.")
    told += _failing(found, serious=True)
    told += _missed(found, long=False)
    told += _apart(found)
    if rules_error:
        told.append(f"{rules_error.rstrip('.')}.")
    if without := [each for each in found[:-1] if each.get("rules_error") and not each.get("rules_read")]:
        verb = "holds" if len(without) == 1 else "hold"
        told.append(f"{len(without)} of {len(found)} processes {verb} no rules but rates in code, since the database was away.")
    return told


def _failing(found: Sequence[Process], *, serious: bool) -> list[str]:
    """Decisions that a Redis which is there has not made. One that got no answer may be a hiccup, if it is one of many; what
    somebody wrote under a client's key concerns that client; anything else is met again by whoever asks the same."""
    failed, decided = Counter[str](), 0
    for each in found:
        lately = each.get("lately") or {}  # a process of another version does not tell it
        failed.update(lately.get("failed") or {})
        decided += lately.get("decisions") or 0
    count, decided = failed.total(), max(failed.total(), decided)
    lasting = sum(failed[cause] for cause in failed if cause not in (*_OF_HICCUPS, *_OF_ONE_CLIENT))
    many = sum(failed[cause] for cause in _OF_HICCUPS)
    is_serious = lasting >= FEW or many >= max(FEW, decided * _SHARE)
    if not count or is_serious is not serious:
        return []
    how = ", ".join(f"{cause.removeprefix('store:')} {number}" for cause, number in failed.most_common())
    verb = "was" if count == 1 else "were"
    return [f"{count} of {decided} decisions of the last minute {verb} made without Redis ({how}): {without_redis.in_words()}."]


_OF_HICCUPS = ("store:timeout", "store:connection")
_OF_ONE_CLIENT = ("store:wrongtype",)
_SHARE = 0.01


def _apart(found: Sequence[Process]) -> list[str]:
    """Processes of this site under another SECRET_KEY, as where settings make one anew in each process."""
    own = found[-1]
    keys = [each["secret"] for each in found if each.get("secret") and each.get("database") == own["database"]]
    kinds = len(set(keys))
    if kinds < 2:
        return []
    told = f"{len(keys)} processes have {kinds} different SECRET_KEYs, and so count apart: each limit holds {kinds} times."
    return [f"{told} Give all of them the same one."]


def _missed(found: Sequence[Process], *, long: bool) -> list[str]:
    """Processes that tell nothing: a problem at first, but who was killed, on another machine, is not missed for ever."""
    oldest = moment(time.time() - MISSED_S) or ""
    silent = [each for each in found if each["breaker"] == "silent" and (each["degraded_since"] < oldest) is long]
    if not silent:
        return []
    verb = "has" if len(silent) == 1 else "have"
    since = _clock(min(each["degraded_since"] for each in silent))
    who = f"{len(silent)} of {len(found)} processes {verb} not been heard of since {since}"
    return [f"{who}: killed, or without a way to Redis, and then {without_redis.in_words()} there."]


def _sharing(found: Sequence[Process]) -> list[str]:
    """More processes than share a limit, which would each admit too much of it."""
    said = conf.current().local_processes
    serving = [each for each in found if each["breaker"] != "silent" and not each["kind"].startswith("manage.py ratewindow")]
    if len(serving) <= said or "local" not in without_redis.policies():
        return []
    would = f"{len(serving)} processes would count locally without Redis, each as if there were {said}"
    return [f"{would}: set RATEWINDOW['LOCAL_PROCESSES'] to {len(serving)} or more."]


def _away(away: Sequence[Process], count: int) -> str:
    """``Redis silent since 12:03 in 2 of 5 processes: requests pass uncounted.``"""
    servers = sorted({server for each in away for server in each["servers"]})
    since = _clock(min(each["degraded_since"] for each in away))
    policies = " / ".join(sorted({each["policy"] for each in away}))
    where = f" in {len(away)} of {count} processes" if count > 1 else ""
    if count == 1 and (others := processes.last_known()) > 1:
        where = f" in this process, one of {others}"
    wrong = sorted({each["error"].removeprefix("store:") for each in away} - _SILENCE)
    how = f"unusable ({', '.join(wrong)})" if wrong else "silent"
    return f"{', '.join(servers)} {how} since {since}{where}: {policies}."


_SILENCE = {"timeout", "connection", "sentinel", ""}  # other faults are told by their names


def _all_well(found: Sequence[Process]) -> str:
    if process_clients.in_memory():
        return "Each process counts for itself, in memory."
    return "All processes count on Redis." if len(found) > 1 else "This process counts on Redis."


def _warnings(found: Sequence[Process]) -> Iterable[str]:
    """What processes have seen to be wrong, each once: their samples differ, their conclusions begin alike."""
    return {text[-60:]: text for each in found for text in each.get("warnings") or ()}.values()


def _odd() -> list[str]:
    count = malformed.recent()
    things = "thing" if count == 1 else "things"
    return [f"{count} odd {things} in Redis left out by this process, which its log names."] if count else []


def _switch() -> dict[str, Any]:
    switch, now_s = kill_switch.turned, time.time()
    off = switch.is_off(now_s)
    return {
        "off": off or not conf.current().enabled,
        "setting": conf.current().enabled,
        "until": moment(switch.until_s) if off else None,
        "by": switch.by if off else "",
        "reason": switch.reason if off else "",
    }


def _clock(when: str) -> str:
    return clock(datetime.fromisoformat(when).timestamp())
