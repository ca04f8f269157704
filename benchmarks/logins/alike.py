"""Whether an answer tells who has an account: ``python -m benchmarks.logins.alike`` compares answers behind one guard."""

import json
import logging
import re
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

import django
from django.http import HttpResponseBase

from benchmarks.logins.attacks import guess
from benchmarks.logins.children import forked, told
from benchmarks.logins.rows import Count
from benchmarks.logins.site.names import NOBODY, OTHERS, VICTIM
from benchmarks.logins.ways import WAYS, stranger
from benchmarks.tables import Section

LIMIT, TRIES, TIMES = 5, 3, 900
APART = 1.05  # the most that one median may be of the other
BEFORE, AFTER = "before the limit", "after the limit"
ABOUT = f"""\
A wrong password for a name with an account, and for one without: status, body, headers, cookies and number of queries, for each
of {len(WAYS)} ways in. The comparison leaves out the name itself, random values (tokens, values of cookies, the refusal's code),
dates, and the queries by which ratewindow looks for new rules now and then. A difference that a package makes without the room is
no fault of the room. Times are those of Django's view, in turns; neither median may be more than {APART:g} times the other."""

_addresses = map(stranger, count())
_RANDOM = {"Date", "Expires", "Set-Cookie"}
_TOKEN = re.compile(r'(csrfmiddlewaretoken" value="|csrf_token[": ]+|"code": "|code )[\w-]+', re.IGNORECASE)
_COOKIE = re.compile(r"=[^;]*(?=;)")


def section() -> Section:
    without, with_it = told("alike", "none"), told("alike", "ours")
    rows = []
    for moment, ways in with_it["differ"].items():
        ways_without = without["differ"].get(moment)
        cells = ("" if ways_without is None else _named(ways_without), _named(ways))
        rows.append(Count(f"ways that answer otherwise, {moment}", cells, len(ways_without or ()), len(ways)))
    for moment, times_ms in with_it["ms"].items():
        times_without_ms = without["ms"].get(moment)
        cells = ("" if times_without_ms is None else _ratio(*times_without_ms), _ratio(*times_ms))
        apart = max(times_ms) / min(times_ms)
        rows.append(Count(f"{moment}: medians of {TIMES}, known to unknown", cells, APART, apart))
    return Section("Names with an account, and without", ABOUT, rows, ("", "without the room", "with it", "at most"))


def _named(ways: dict[str, list[str]]) -> str:
    """How many ways, each with the parts of its answers that differ."""
    named = "; ".join(f"{way}: {', '.join(parts)}" for way, parts in ways.items())
    return f"{len(ways)} ({named})" if ways else "0"


def _ratio(known_ms: float, unknown_ms: float) -> str:
    return f"{known_ms:.2f} / {unknown_ms:.2f} ms = {known_ms / unknown_ms:.3f}"


def main() -> None:
    django.setup()
    logging.disable(logging.CRITICAL)
    from django.apps import apps

    from benchmarks.logins.site.accounts import make_site

    make_site([VICTIM, *OTHERS])
    moments = [BEFORE, AFTER] if apps.is_installed("ratewindow.contrib.logins") else [BEFORE]
    differ: dict[str, dict[str, list[str]]] = {moment: {} for moment in moments}
    for way in WAYS:
        for moment, parts in _differences(way, moments).items():
            if parts:
                differ[moment][way] = parts
    print(json.dumps({"differ": differ, "ms": forked(partial(_times, moments))}))


def _differences(way: str, moments: list[str]) -> dict[str, list[str]]:
    """What differs each time: a second may end between two answers, and waits are told in seconds."""
    tries = [forked(partial(_compared, way, moments)) for _ in range(TRIES)]
    return {moment: min((each[moment] for each in tries), key=len) for moment in moments}


def _compared(way: str, moments: list[str]) -> dict[str, list[str]]:
    for _ in range(2):  # what is loaded at first use
        guess("warm-up", next(_addresses), way)
    found = {}
    for moment in moments:
        for _ in range(0 if moment == BEFORE else LIMIT):
            for name in (VICTIM, NOBODY):
                guess(name, next(_addresses), way)
        known, unknown = (_shown(way, name) for name in (VICTIM, NOBODY))
        found[moment] = [part for part in known if known[part] != unknown[part]]
    return found


def _shown(way: str, name: str) -> dict[str, Any]:
    """All that a client sees of an answer, and what it takes; without what differs each time."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as queries:
        answer = guess(name, next(_addresses), way)
    rules = sum('"ratewindow_' in query["sql"] for query in queries)
    return {
        "status": answer.status_code,
        "body": _TOKEN.sub(r"\1", _body(answer).replace(name, "NAME")),
        "headers": {key: value for key, value in answer.headers.items() if key not in _RANDOM},
        "cookies": {key: _COOKIE.sub("", cookie.OutputString(["path", "max-age"])) for key, cookie in answer.cookies.items()},
        "queries": len(queries) - rules,
    }


def _body(answer: HttpResponseBase) -> str:
    return b"".join(answer).decode()


def _times(moments: list[str]) -> dict[str, tuple[float, float]]:
    """The medians of known and unknown names at Django's view, in turns; first each name is new, then it is used up."""
    found = {}
    for moment in moments:
        names: list[Callable[[int], str]] = [lambda number: OTHERS[number], lambda number: f"nobod{number}"]
        if moment == AFTER:
            names = [lambda _: VICTIM, lambda _: NOBODY]
            for _ in range(LIMIT):
                for name in names:
                    guess(name(0), next(_addresses))
        taken: list[list[float]] = [[], []]
        for number in range(TIMES + 10):
            for name, times in zip(names, taken, strict=True):
                address = next(_addresses)
                began_s = time.perf_counter()
                guess(name(number), address)
                times.append((time.perf_counter() - began_s) * 1000)
        found[moment] = (statistics.median(taken[0][10:]), statistics.median(taken[1][10:]))
    return found


if __name__ == "__main__":
    main()
