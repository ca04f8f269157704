"""Whether limiting works: for a monitor, for the admin's banner and for ``manage.py ratewindow check``.

``status()`` makes a few round trips to Redis, each within ``TIMEOUT``, none while the breaker is open, and no SQL queries. It
never raises. In an async view, call it by ``sync_to_async``.
"""

import logging
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.utils.translation import gettext, ngettext

from ratewindow import conf
from ratewindow.conf.in_words import listed
from ratewindow.conf.translation import recognised
from ratewindow.health import processes
from ratewindow.health.process_record import moment
from ratewindow.identity import proxy_warning
from ratewindow.request import without_redis
from ratewindow.rulebook import kill_switch, reading
from ratewindow.rules.kill_switch import clock
from ratewindow.store import malformed, process_clients, server_info, stores
from ratewindow.store.failures import FEW

logger = logging.getLogger("ratewindow")

MISSED_S = 120.0  # a process that is silent for longer is a warning, no longer a problem

Process = dict[str, Any]


def status() -> dict[str, Any]:
    """The state of the limiter as a dict that JSON can represent; ``ok`` is False while it is degraded.

    ``state`` is ``ok`` or ``degraded``, ``since`` the beginning of that in ISO 8601, ``summary`` a sentence. ``problems``
    are sentences about what is wrong, ``warnings`` about what may go wrong. ``store`` describes the server, ``processes``
    every process of the site: one whose ``breaker`` is ``silent`` has not reported for seconds. ``fallback`` is how many
    decisions the running processes have made without the store, by cause. ``rules`` and ``switch`` are as this process
    knows them. While Redis is away, this process knows of no other.
    """
    try:
        return _status()
    except Exception as error:  # a monitor needs an answer, not an error
        logger.exception("ratewindow: the state of the limiter cannot be read")
        problem = gettext("The state cannot be read: %s") % f"{type(error).__name__}: {error}"
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


class Glance(NamedTuple):
    """What a page needs to know before it reads more from Redis."""

    problems: list[str]
    reachable: bool


def glance() -> Glance:
    """The problems of `status`, without a description of the server."""
    try:
        store, found = look(at_server=False)
        return Glance(_problems(store, found, reading.status().error), store["reachable"])
    except Exception as error:
        logger.exception("ratewindow: the state of the limiter cannot be read")
        return Glance(
            [gettext("The state of the limits cannot be read: %s") % f"{type(error).__name__}: {error}"], reachable=False
        )


def _problems(store: dict[str, Any], found: Sequence[Process], rules_error: str) -> list[str]:
    problems = []
    away = [each for each in found if each["breaker"] == "open"]
    if away:
        problems.append(_away(away, len(found)))
    elif not store["reachable"]:
        problem = gettext("Redis does not answer here (%(error)s): %(holds)s where it does not.")
        problems.append(problem % {"error": store["error"], "holds": without_redis.in_words()})
    problems += _failing(found, serious=True)
    problems += _missed(found, long=False)
    problems += _apart(found)
    if rules_error:
        problems.append(f"{rules_error.rstrip('.')}.")
    if without := [each for each in found[:-1] if each.get("rules_error") and not each.get("rules_read")]:
        problem = ngettext(
            "%(count)d of %(all)d processes holds no rules but rates in code, since the database was away.",
            "%(count)d of %(all)d processes hold no rules but rates in code, since the database was away.",
            len(without),
        )
        problems.append(problem % {"count": len(without), "all": len(found)})
    return problems


def _failing(found: Sequence[Process], *, serious: bool) -> list[str]:
    """Decisions that were made without Redis although it answers.

    A few without an answer, of many, are no problem; a foreign value under a client's key concerns that client; any other
    failure will be repeated for the same request.
    """
    failed, decided = Counter[str](), 0
    for each in found:
        lately = each.get("lately") or {}  # a process of another version may not send it
        failed.update(lately.get("failed") or {})
        decided += lately.get("decisions") or 0
    count, decided = failed.total(), max(failed.total(), decided)
    lasting = sum(failed[cause] for cause in failed if cause not in (*_PASSING, *_ABOUT_ONE_CLIENT))
    many = sum(failed[cause] for cause in _PASSING)
    is_serious = lasting >= FEW or many >= max(FEW, decided * _SHARE)
    if not count or is_serious is not serious:
        return []
    how = listed(f"{cause.removeprefix('store:')} {number}" for cause, number in failed.most_common())
    text = ngettext(
        "%(count)d of %(all)d decisions of the last minute was made without Redis (%(how)s): %(holds)s.",
        "%(count)d of %(all)d decisions of the last minute were made without Redis (%(how)s): %(holds)s.",
        count,
    )
    return [text % {"count": count, "all": decided, "how": how, "holds": without_redis.in_words()}]


_PASSING = ("store:timeout", "store:connection")
_ABOUT_ONE_CLIENT = ("store:wrongtype",)
_SHARE = 0.01


def _apart(found: Sequence[Process]) -> list[str]:
    """Processes of this site with another SECRET_KEY or PEPPER, such as one that settings generate in each process."""
    own = found[-1]
    keys = [each["secret"] for each in found if each.get("secret") and each.get("database") == own["database"]]
    kinds = len(set(keys))
    if kinds < 2:
        return []
    problem = gettext(
        "%(count)d processes have %(kinds)d different SECRET_KEYs or PEPPERs, and so count apart: each limit holds %(kinds)d "
        "times. Give all of them the same."
    )
    return [problem % {"count": len(keys), "kinds": kinds}]


def _missed(found: Sequence[Process], *, long: bool) -> list[str]:
    """Processes that are silent: a problem at first, then a warning, since one may have been killed on another machine."""
    oldest = moment(time.time() - MISSED_S) or ""
    silent = [each for each in found if each["breaker"] == "silent" and (each["degraded_since"] < oldest) is long]
    if not silent:
        return []
    since = _clock(min(each["degraded_since"] for each in silent))
    text = ngettext(
        "%(count)d of %(all)d processes has not been heard of since %(time)s: killed, or without a way to Redis, and then "
        "%(holds)s there.",
        "%(count)d of %(all)d processes have not been heard of since %(time)s: killed, or without a way to Redis, and then "
        "%(holds)s there.",
        len(silent),
    )
    return [text % {"count": len(silent), "all": len(found), "time": since, "holds": without_redis.in_words()}]


def _sharing(found: Sequence[Process]) -> list[str]:
    """More processes than ``LOCAL_PROCESSES``: each would admit too large a share of a limit."""
    expected = conf.current().local_processes
    serving = [each for each in found if each["breaker"] != "silent" and not each["kind"].startswith("manage.py ratewindow")]
    if len(serving) <= expected or "local" not in without_redis.policies():
        return []
    text = gettext(
        "%(count)d processes would count locally without Redis, each as if there were %(expected)d: set "
        "RATEWINDOW['LOCAL_PROCESSES'] to %(count)d or more."
    )
    return [text % {"count": len(serving), "expected": expected}]


def _away(away: Sequence[Process], count: int) -> str:
    """``Redis silent since 12:03 in 2 of 5 processes: requests pass uncounted.``"""
    servers = sorted({server for each in away for server in each["servers"]})
    since = _clock(min(each["degraded_since"] for each in away))
    policies = " / ".join(sorted({gettext(each["policy"]) for each in away}))  # which processes send in English
    others = processes.last_known()
    wrong = sorted({each["error"].removeprefix("store:") for each in away} - _SILENCE)
    if count > 1:
        silent = gettext("%(servers)s silent since %(time)s in %(away)d of %(count)d processes: %(holds)s.")
        unusable = gettext("%(servers)s unusable (%(how)s) since %(time)s in %(away)d of %(count)d processes: %(holds)s.")
    elif others > 1:
        silent = gettext("%(servers)s silent since %(time)s in this process, one of %(others)d: %(holds)s.")
        unusable = gettext("%(servers)s unusable (%(how)s) since %(time)s in this process, one of %(others)d: %(holds)s.")
    else:
        silent = gettext("%(servers)s silent since %(time)s: %(holds)s.")
        unusable = gettext("%(servers)s unusable (%(how)s) since %(time)s: %(holds)s.")
    values = {"servers": listed(servers), "time": since, "holds": policies, "how": listed(wrong)}
    return (unusable if wrong else silent) % {**values, "away": len(away), "count": count, "others": others}


_SILENCE = {"timeout", "connection", "sentinel", ""}  # other causes are named


def _all_well(found: Sequence[Process]) -> str:
    if process_clients.in_memory():
        return gettext("Each process counts for itself, in memory.")
    return gettext("All processes count on Redis.") if len(found) > 1 else gettext("This process counts on Redis.")


def _warnings(found: Sequence[Process]) -> Iterable[str]:
    """The warnings of all processes, which send them in English, each once: those that end alike are about the same problem."""
    texts = {text[-60:]: text for each in found for text in each.get("warnings") or ()}.values()
    return [recognised(text, (*proxy_warning.MESSAGES, stores.HOST_CLOCKS)) for text in texts]


def _odd() -> list[str]:
    count = malformed.recent()
    text = ngettext(
        "%d odd thing in Redis left out by this process, which its log names.",
        "%d odd things in Redis left out by this process, which its log names.",
        count,
    )
    return [text % count] if count else []


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
