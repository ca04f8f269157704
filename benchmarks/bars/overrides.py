"""Choosing what holds for a request among a hundred thousand blocks and a thousand rules, and among ten of each."""

import time
import tracemalloc
from collections.abc import Callable
from itertools import cycle, islice

from benchmarks import overrides as made
from benchmarks.bars.matching import AT_MOST
from benchmarks.rules import rules
from benchmarks.tables import Section, Timed
from benchmarks.timing import Contestant, side_by_side
from ratewindow.models import Override
from ratewindow.rulebook import override_rows
from ratewindow.rulebook.current import Rulebook

FEW, MANY = (10, 10), (1000, 100_000)


def measure() -> Section:
    times = side_by_side({_name(*counts): _choosing(*counts) for counts in (FEW, MANY)}, calls=400)
    few, many = times[_name(*FEW)], times[_name(*MANY)]
    read_s, megabytes = _read()
    return Section(
        "Choosing among blocks and exemptions",
        "`Rulebook.match` and `Overrides.of_request`: addresses, networks of eight lengths, users, groups and "
        "API keys. A request from one of ten addresses finds one.\n\n"
        f"{MANY[1]:,} of them take {megabytes:.1f} MB in each process, {megabytes * 1e6 / MANY[1]:.0f} bytes each. Reading "
        f"them takes {read_s:.1f} s of a thread's time (SQLite), every half minute and after each edit, in short pieces "
        "between which requests go on.",
        [
            Timed(_name(*FEW), (), None, few, few),
            Timed(_name(*MANY), (), AT_MOST, many, few),
        ],
        why="Why more: a request matches more rules of a thousand, and one look is needed for each length that some network has.",
    )


def _name(rule_count: int, override_count: int) -> str:
    return f"{rule_count:,} rules, {override_count:,} overrides"


def _choosing(rule_count: int, override_count: int) -> Contestant:
    book, held = Rulebook(rules(rule_count)), made.overrides(override_count)
    sent = made.requests(rule_count)

    def choose(request: object) -> None:
        book.match(request)  # type: ignore[arg-type]
        held.of_request(request)  # type: ignore[arg-type]

    return Contestant(choose, lambda calls: islice(cycle(sent), calls))


def _read() -> tuple[float, float]:
    """Seconds of a thread to read the rows, and the megabytes that stay."""
    rows = Override.objects
    rows.bulk_create(made.rows(MANY[1]), batch_size=2000)
    try:
        read_s = _thread_s(override_rows.read_overrides)
        tracemalloc.start()
        held = override_rows.read_overrides()
        assert held is not None and held.count == MANY[1]
        with_them = tracemalloc.get_traced_memory()[0]
        del held  # by what is let go, since housekeeping reads the rows in this process, too
        megabytes = (with_them - tracemalloc.get_traced_memory()[0]) / 1e6
        tracemalloc.stop()
    finally:
        rows.all()._raw_delete("default")  # without a signal for each
    return read_s, megabytes


def _thread_s(work: Callable[[], object]) -> float:
    began_s = time.thread_time()
    work()
    return time.thread_time() - began_s
