"""Whether limiting works: for a monitor, for the admin's banner and for ``manage.py ratewindow check``.

``status()`` makes a few round trips to Redis, each within ``TIMEOUT``, none while the breaker is open, and no SQL queries. It
never raises. In an async view, call it by ``sync_to_async``.
"""

import logging
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from redis.exceptions import RedisError

from ratewindow import conf
from ratewindow.conf import in_words, time_zone
from ratewindow.counting import minutes
from ratewindow.health import processes
from ratewindow.identity.address import UNTRUSTED, is_internal
from ratewindow.limiter.problem import Problem
from ratewindow.request import without_redis
from ratewindow.rulebook import kill_switch, reading
from ratewindow.store import outage, process_clients, server_info

logger = logging.getLogger("ratewindow")

Process = dict[str, Any]


def status(*, at_server: bool = True) -> dict[str, Any]:
    """The state of the limiter as a dict that JSON can represent; ``ok`` is False while it is degraded.

    ``state`` is ``ok`` or ``degraded``, ``since`` the beginning of that in ISO 8601, ``summary`` a sentence. ``problems``
    are sentences about what is wrong, ``warnings`` about what may go wrong. ``store`` describes the server, ``processes``
    every process of the site that reaches it. ``fallback`` is how many decisions the running processes have made without the
    store, by cause. ``rules`` and ``switch`` are as this process knows them. While Redis is unavailable, it
    knows of no other. Without `at_server` the server is not asked to describe itself.
    """
    try:
        return _status(*look(at_server=at_server))
    except Exception as error:  # a monitor needs an answer, not an error
        logger.exception("ratewindow: the state of the limiter cannot be read")
        problem = gettext("The state of the limits cannot be read: %s") % f"{type(error).__name__}: {error}"
        return {
            "ok": False,
            "state": "degraded",
            "since": None,
            "summary": problem,
            "problems": [problem],
            "store": {"reachable": False},
            "processes": [],
            "fallback": {},
            "warnings": [],
        }


def _status(store: dict[str, Any], found: list[Process]) -> dict[str, Any]:
    rules_error = reading.problem()
    problems = [
        *_unavailable(store, found),
        *_failing(found, serious=True),
        *_apart(found),
        *([f"{rules_error.rstrip('.')}."] if rules_error else []),
    ]
    since = min((each["degraded_since"] for each in found if each["degraded_since"]), default=None) if problems else None
    return {
        "ok": not problems,
        "state": "degraded" if problems else "ok",
        "since": since,
        "summary": " ".join(problems) if problems else _all_well(found),
        "problems": problems,
        "warnings": [*server_info.warnings(store), *_failing(found, serious=False), *uncollected(store), *_warnings(found)],
        "policy": without_redis.in_words(),
        "store": store,
        "processes": found,
        "fallback": dict(sum((Counter(each["fallback"]) for each in found), Counter())),
        "rules": {"count": found[-1]["rules"], "read": found[-1]["rules_read"], "error": rules_error},
        "switch": _switch(),
    }


def look(*, at_server: bool = True) -> tuple[dict[str, Any], list[Process]]:
    """The description of the server, and all processes with this one last; no round trip while the breaker is open."""
    own = processes.own()
    if process_clients.in_memory():
        return {"address": "memory://", "reachable": True, "error": "", "server": "memory"}, [own]
    if own["breaker"] == "open" and own["servers"] == ["Redis"]:
        return server_info.unasked(own["error"]), [own]
    try:
        client = process_clients.client()
        store = server_info.ask(client) if at_server else {"reachable": True}
        others = processes.everywhere(client)
    except Exception as error:  # whichever of server, address or name server it is
        return server_info.unasked(f"{type(error).__name__}: {error}"), [own]
    me = (own["host"], own["pid"])
    return store, [*(each for each in others if (each["host"], each["pid"]) != me), own]


def _failing(found: Sequence[Process], *, serious: bool) -> list[str]:
    """Decisions that were made without Redis although it answers. A few are no problem, nor less than one in a hundred."""
    failed = sum((Counter(each["lately"]["failed"]) for each in found), Counter[str]())
    count = failed.total()
    decided = max(count, sum(each["lately"]["decisions"] for each in found))
    if not count or (count >= max(outage.FEW, decided / 100)) is not serious:
        return []
    how = in_words.listed(f"{cause.removeprefix('store:')} {number}" for cause, number in failed.most_common())
    return [
        ngettext(
            "%(count)d of %(all)d decisions of the last minute was made without Redis (%(how)s): %(holds)s.",
            "%(count)d of %(all)d decisions of the last minute were made without Redis (%(how)s): %(holds)s.",
            count,
        )
        % {"count": count, "all": decided, "how": how, "holds": without_redis.in_words()}
    ]


def _apart(found: Sequence[Process]) -> list[str]:
    """Processes of this site with another SECRET_KEY or PEPPER, such as one that settings generate in each process."""
    kinds = len({each["secret"] for each in found})
    if kinds < 2:
        return []
    return [
        gettext(
            "%(count)d processes have %(kinds)d different SECRET_KEYs or PEPPERs, and so count apart: each limit holds %(kinds)d "
            "times. Give all of them the same."
        )
        % {"count": len(found), "kinds": kinds}
    ]


def _unavailable(store: dict[str, Any], found: Sequence[Process]) -> list[str]:
    """``Redis unavailable (timeout) since 12:03 in 2 of 5 processes: requests pass uncounted.``"""
    away = [each for each in found if each["breaker"] == "open"]
    if not away and store["reachable"]:
        return []
    if not away:
        return [
            gettext("Redis does not answer here (%(error)s): %(holds)s where it does not.")
            % {"error": store["error"], "holds": without_redis.in_words()}
        ]
    values = {
        "servers": in_words.listed(sorted({server for each in away for server in each["servers"]})),
        "how": in_words.listed(sorted({each["error"].removeprefix("store:") for each in away})),
        "time": clock(min(each["degraded_since"] for each in away)),
        "holds": " / ".join(sorted({*map(gettext, (each["policy"] for each in away))})),  # which processes send in English
        "away": len(away),
        "count": len(found),
    }
    alone = gettext("%(servers)s unavailable (%(how)s) since %(time)s: %(holds)s.")  # who lacks Redis knows of no others
    of_many = gettext("%(servers)s unavailable (%(how)s) since %(time)s in %(away)d of %(count)d processes: %(holds)s.")
    return [(of_many if len(found) > 1 else alone) % values]


def _all_well(found: Sequence[Process]) -> str:
    if process_clients.in_memory():
        return gettext("Each process counts for itself, in memory.")
    return gettext("All processes count on Redis.") if len(found) > 1 else gettext("This process counts on Redis.")


def _warnings(found: Sequence[Process]) -> list[str]:
    """The warnings of all processes, each once."""
    values_by_message = {message: values for each in found for message, values in each["warnings"]}
    return [capfirst(in_words.as_sentence(Problem(message, **values))) for message, values in values_by_message.items()]


def uncollected(store: dict[str, Any]) -> list[str]:
    """Nobody collects: the report forgets what waits for longer than Redis keeps it."""
    with suppress(RedisError, OSError):
        if store["reachable"] and not process_clients.in_memory() and minutes.are_late(time.time()):
            return [
                gettext("Nobody collects: run Celery's beat and a worker, or manage.py ratewindow collect every minute by cron.")
            ]
    return []


def proxies(found: Sequence[Process]) -> list[str]:
    """What processes say of a proxy that is not trusted, each sentence once."""
    return _warnings([{"warnings": [each for each in process["warnings"] if each[0] == UNTRUSTED]} for process in found])


def is_proxy(found: Sequence[Process], identity: str) -> bool:
    """Whether a client is likely a proxy that is not trusted: what is done about it is done to all visitors."""
    return bool(identity) and is_internal(identity) and bool(proxies(found))


def _switch() -> dict[str, Any]:
    switch, now_s = kill_switch.turned, time.time()
    off = switch.is_off(now_s)
    return {
        "off": off or not conf.current().enabled,
        "setting": conf.current().enabled,
        "until": processes.moment(switch.until_s) if off else None,
        "by": switch.by if off else "",
        "reason": switch.reason if off else "",
    }


def clock(when: str | None) -> str:
    """A time of a record, as people read it; empty for none."""
    return time_zone.in_short(datetime.fromisoformat(when)) if when else ""
