"""The room on real servers: a crowd that guesses by every way in, a victim who wants in meanwhile, and a Redis that fails."""

import os
import random
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count

from benchmarks.logins import tally
from benchmarks.logins.browsers import AT_ONCE, Answer, Browser, at_once
from benchmarks.logins.children import told
from benchmarks.logins.rows import Count, counts
from benchmarks.logins.servers import PROCESSES, Redis, Site, new_site
from benchmarks.logins.site.names import NEW_PASSWORD, OTHERS, PASSWORD, VICTIM, VICTIMS
from benchmarks.logins.ways import LOGIN_VIEW, WAYS, Message, form, stranger
from benchmarks.tables import Row, Section

LIMIT = 5  # guesses of one name in a minute
LOGGED_IN = 302  # what Django's view answers then
GUESSES = 10_000
STRANGERS, LOGINS = 1000, 100
ATTACKERS = 4  # clients at once while Redis fails: many more would wait for each other, not for Redis
BEFORE_S, FAILING_S = 2.0, 5.0
LONGEST_MS = 300
CROWDED = {
    "gunicorn": ("gunicorn", "100ms"),
    "uvicorn": ("uvicorn", "100ms"),
    "uvicorn, `TIMEOUT` 5s": ("uvicorn", "5s"),
}
_addresses = map(stranger, count())

CROWD = """\
{guesses:,} wrong passwords, {at_once} at once, each from an address in a network of its own, are shared out among the ways in.
The table says how many reached the hasher, of one account for each way. Meanwhile {others:,} other people log in rightly at
Django's view, each once, from addresses of their own. It took {times}.
Five guesses are allowed in a minute, and ten by a way in that took longer. gunicorn has four processes, uvicorn two."""
WHY_MORE = f"""\
Why more: a process whose threads wait too long for a core, or for Python's lock, finds that Redis has not answered within
`TIMEOUT`, of 100 ms, and counts such a login by itself, as it does while Redis is down. So each process may allow its own
{LIMIT}, beside the {LIMIT} that Redis allows. With more time for Redis none is counted so."""
SIEGE = """\
{strangers:,} strangers guess at one account, {at_once} at once, each from a network of its own. Then its owner comes: on a known
device; on a new one, which is refused; and on that one again after a reset of the password."""
FAILURES = """\
{attackers} clients guess at one account without a pause, each time from another network; {before:g} s later the one Redis
fails. Only guesses that reached the hasher in the {failing:g} s from then on count. Each process may allow its own {limit}, and
a Redis that has forgotten all counts {limit} more. Meanwhile the owner logs in on a known device, again and again, and nobody
may refuse that. Times are those that a client waited for an answer, also for one of the machine's {cores} cores, before the
fault and from then on. No answer may take more than {longest} ms. A process waits three times for a Redis that hangs, then asks
it no more. A client that queues behind others for a process waits for theirs as well. The site freezes the modules that it has
loaded (`gc.freeze`), as a site of so many packages should. Otherwise Python looks once through all of them, in the middle of a
request."""
WHY_LATER = """\
Why later: a machine that does something else meanwhile. The median and the longest time before the fault show it, too."""


@dataclass(frozen=True)
class Crowd:
    """What came of the guesses by one way in, and of the right logins meanwhile."""

    reached: int
    refused: int
    failed: int
    took_s: float


@dataclass(frozen=True)
class Siege:
    """What came of the strangers' guesses, and of their owner's logins."""

    reached: int
    took_s: float
    refused: int
    let_in: int
    failed: int


@dataclass(frozen=True)
class Failure:
    """What came of a fault of Redis; times are of the answers before it, and from it on."""

    reached: int
    guesses: int
    refused: int
    logins: int
    before_ms: Sequence[float]
    after_ms: Sequence[float]


def crowd(guesses: int = GUESSES) -> Section:
    seen: dict[str, Sequence[Crowd]] = {}
    complaints = []
    for place_name, (kind, timeout) in CROWDED.items():
        with new_site() as place, place.served(kind, timeout) as port:
            seen[place_name] = [_crowd(port, number, guesses // len(WAYS)) for number in range(len(WAYS))]
            complaints.append(len(place.complaints()))
    rows: list[Row] = []
    for way, found in zip(WAYS, zip(*seen.values(), strict=True), strict=True):
        rows.append(counts(way, [each.reached for each in found], _limit(max(each.took_s for each in found))))
    for name, total in (("right logins of others that were refused", "refused"), ("answers with 500 or more", "failed")):
        rows.append(counts(name, [sum(getattr(each, total) for each in found) for found in seen.values()], 0))
    rows.append(counts("lines of the log that Redis gave no answer in time, or does again", complaints))
    times = ", ".join(f"{sum(each.took_s for each in found):.0f} s behind {name}" for name, found in seen.items())
    about = CROWD.format(guesses=guesses, at_once=AT_ONCE, others=len(OTHERS), times=times)
    return Section("A crowd that guesses", about, rows, ("", *CROWDED, "at most"), WHY_MORE)


def _crowd(port: int, number: int, guesses: int) -> Crowd:
    """By the way in of this number, at an account of its own; each account of the others comes once in all."""
    way, name = list(WAYS.values())[number], VICTIMS[number]
    wrong = [_Try(way(name, tally.wrong_password()), False) for _ in range(guesses)]
    right = [_Try(WAYS[LOGIN_VIEW](other, PASSWORD), True) for other in OTHERS[number :: len(WAYS)]]
    tries = [*wrong, *right]
    random.Random(number).shuffle(tries)
    before, began_s = tally.reached(), time.monotonic()
    answers = at_once(lambda each: Browser(port, next(_addresses)).send(each.message), tries)
    took_s = time.monotonic() - began_s
    refused = sum(answer.status != LOGGED_IN for each, answer in zip(tries, answers, strict=True) if each.is_right)
    return Crowd(len(tally.reached() - before), refused, sum(answer.status >= 500 for answer in answers), took_s)


@dataclass(frozen=True)
class _Try:
    message: Message
    is_right: bool


def siege() -> Section:
    seen = []
    for kind in PROCESSES:
        with new_site() as place, place.served(kind) as port:
            seen.append(_siege(place, port))
    rows: list[Row] = [
        counts("guesses that reached the hasher", [each.reached for each in seen], _limit(max(each.took_s for each in seen))),
        counts(f"right logins on a known device that were refused, of {LOGINS}", [each.refused for each in seen], 0),
        counts("right logins on a new device that were let in, of 1", [each.let_in for each in seen], 0),
        counts("the link, the new password, a login with it there: that failed, of 3", [each.failed for each in seen], 0),
    ]
    return Section("One account under siege", SIEGE.format(strangers=STRANGERS, at_once=AT_ONCE), rows, _columns(), WHY_MORE)


def _siege(place: Site, port: int) -> Siege:
    device = _known_device(port)
    before, began_s = tally.reached(), time.monotonic()
    at_once(lambda _: _guess(port), range(STRANGERS))
    reached, took_s = len(tally.reached() - before), time.monotonic() - began_s
    refused = sum(_log_in(device).status != LOGGED_IN for _ in range(LOGINS))
    at_once(lambda _: _guess(port), range(AT_ONCE))  # if a minute has passed meanwhile
    new = Browser(port, next(_addresses))
    let_in = int(_log_in(new).status == LOGGED_IN)
    opened = new.send(Message("GET", told("site.reset_link", "ours", LOGINS_DATABASE=str(place.database))))
    changed = new.send(form(opened.location, new_password1=NEW_PASSWORD, new_password2=NEW_PASSWORD))
    passed = (
        opened.status == 302,
        (changed.status, changed.location) == (302, "/"),
        _log_in(new, NEW_PASSWORD).status == LOGGED_IN,
    )
    return Siege(reached, took_s, refused, let_in, passed.count(False))


FAULTS: dict[str, Callable[[Redis], None]] = {"hung (SIGSTOP)": Redis.hang, "killed": Redis.end, "flushed": Redis.forget}


def failures() -> Section:
    rows: list[Row] = []
    for kind, processes in PROCESSES.items():
        for fault, do in FAULTS.items():
            with new_site() as place, place.served(kind) as port:
                found = _failure(place.redis, port, do)
            bound = LIMIT if fault == "flushed" else LIMIT * processes
            longest_ms = max(found.after_ms)
            cells = (
                f"{found.reached} of {found.guesses:,}",
                f"{found.refused} of {found.logins}",
                f"{statistics.median(found.after_ms):.0f}",
                f"{longest_ms:.0f}",
                f"{max(found.before_ms):.0f}",
            )
            rows.append(_Failed(f"{fault}, {kind}", cells, bound, found.reached, found.refused, longest_ms))
    columns = ("Redis", "reached the hasher", "owner refused", "median, ms", "longest, ms", "longest before", "at most")
    about = FAILURES.format(
        attackers=ATTACKERS, before=BEFORE_S, failing=FAILING_S, limit=LIMIT, cores=os.cpu_count(), longest=LONGEST_MS
    )
    return Section("Redis fails under attack", about, rows, columns, WHY_LATER)


@dataclass(frozen=True)
class _Failed(Count):
    """Three bars in one: no more guesses than that, the owner gets in, and nobody waits longer than promised."""

    refused: int = 0
    longest_ms: float = 0.0

    @property
    def holds(self) -> bool:
        return super().holds and not self.refused and self.longest_ms <= LONGEST_MS


def _failure(server: Redis, port: int, fault: Callable[[Redis], None]) -> Failure:
    device, over = _known_device(port), threading.Event()
    with ThreadPoolExecutor(ATTACKERS + 1) as pool:
        guessing = [pool.submit(_again, partial(_guess, port), over) for _ in range(ATTACKERS)]
        logging_in = pool.submit(_again, partial(_log_in, device), over)
        try:
            over.wait(BEFORE_S)
            before, failed_s = tally.reached(), time.monotonic()
            fault(server)
            over.wait(FAILING_S)
        finally:
            over.set()
    guessed, logged_in = [answer for each in guessing for answer in each.result()], logging_in.result()
    logins = [each for each in logged_in if each.sent_s >= failed_s]
    earlier: list[float] = []
    later: list[float] = []
    for each in (*guessed, *logged_in):  # what was sent before the fault may wait for an answer that does not come
        (earlier if each.sent_s + each.took_ms / 1000 < failed_s else later).append(each.took_ms)
    return Failure(
        reached=len(tally.reached() - before),
        guesses=sum(each.sent_s >= failed_s for each in guessed),
        refused=sum(each.status != LOGGED_IN for each in logins),
        logins=len(logins),
        before_ms=earlier,
        after_ms=later,
    )


def _again(send: Callable[[], Answer], over: threading.Event) -> list[Answer]:
    """The same again and again, until it is over."""
    answers = []
    while not over.is_set():
        answers.append(send())
    return answers


def _known_device(port: int) -> Browser:
    browser = Browser(port, next(_addresses))
    if _log_in(browser).status != LOGGED_IN:
        raise RuntimeError("the victim could not log in before anything happened")
    browser.address = next(_addresses)  # known by its cookie, not by where it is
    return browser


def _log_in(browser: Browser, password: str = PASSWORD) -> Answer:
    browser.end_session()
    return browser.send(WAYS[LOGIN_VIEW](VICTIM, password))


def _guess(port: int) -> Answer:
    return Browser(port, next(_addresses)).send(WAYS[LOGIN_VIEW](VICTIM, tally.wrong_password()))


def _limit(took_s: float) -> int:
    return LIMIT if took_s < 60 else 2 * LIMIT


def _columns() -> tuple[str, ...]:
    return ("", *(f"{kind}, {processes} processes" for kind, processes in PROCESSES.items()), "at most")
