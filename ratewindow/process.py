"""This process: what its threads do, and what starts, changes and ends with it.

Each part keeps its state in its own module, where a request reads it in one step. This module alone knows all the parts:
Django starts them (`start`), a fork renews them, changed settings replace what they were made by, and `end` is for the exit.
"""

import atexit
from typing import Any

from django.core.signals import setting_changed

from ratewindow import background, conf, rooms
from ratewindow.background import Chore
from ratewindow.conf import news, site_functions
from ratewindow.counting import minutes
from ratewindow.counting.counters import FLUSH_S, counters
from ratewindow.health import processes
from ratewindow.identity import address
from ratewindow.limiter import forks
from ratewindow.request import count_by_answer, late_charges, told_once, without_redis
from ratewindow.rulebook import current, edits, kill_switch, reading
from ratewindow.rules import matching
from ratewindow.store import breaker, outage, process_clients, shared_prefix, state_keys, stores

SIGNALS_S = 1.5  # what is to be sent makes it due immediately
CHORES = (
    # Each call to Redis within `TIMEOUT`.
    Chore(edits.check_redis, edits.interval_s),
    Chore(processes.beat, lambda: processes.BEAT_S),
    Chore(address.judge_sample, lambda: address.SAMPLE_S),
    # The database, a server that hangs, and listeners may hold up these for seconds: each has a thread that the others do
    # not wait for, while there is something to do.
    Chore(edits.reread, edits.interval_s, "rules", edits.is_stale),
    Chore(edits.reread_switch, lambda: reading.REREAD_ALONE_S, "rules", edits.is_alone),
    Chore(shared_prefix.announce_unless_tested, lambda: shared_prefix.ANNOUNCE_S, "rules"),
    Chore(outage.breaker.look, lambda: breaker.PROBE_S, "probes", outage.breaker.is_watched),
    Chore(stores.shards.look, lambda: breaker.PROBE_S, "probes", stores.shards.are_watched),
    Chore(counters.flush, lambda: FLUSH_S, "reports", counters.has_unsent),
    Chore(late_charges.refund_missed, lambda: FLUSH_S, "reports", late_charges.has_missed),
    Chore(reading.send_changes_apart, lambda: SIGNALS_S, "signals", reading.has_changes),
    Chore(processes.send_turns, lambda: SIGNALS_S, "signals", processes.has_turns),
)


def start() -> None:
    """Connect the parts, when Django starts; called again where a test changes INSTALLED_APPS, it adds nothing a second time.
    Threads start with the first request."""
    background.assign((*CHORES, *(chore for room in rooms.installed() for chore in room.chores())), outage.open_breakers)
    outage.breaker.holds = without_redis.in_words
    breaker.listeners = [outage.forget_failures, processes.add_turn]  # which also starts the probes
    site_functions.listeners = [counters.note]
    counters.observers = [room.note_refusals for room in rooms.installed()]
    minutes.also = rooms.plugged("sends_also")
    edits.connect()
    count_by_answer.connect()
    setting_changed.connect(_follow_settings, dispatch_uid="ratewindow.process")
    forks.after_fork(_renew)
    atexit.register(end)


def end() -> None:
    """What a process does last."""
    counters.flush_last()
    for room in rooms.installed():
        room.end()


def _renew() -> None:
    """In a fork: connections, counts, locks and threads are the parent's; the rules stay good."""
    for renew in (
        process_clients.drop,
        stores.drop,
        news.left_out.forget,
        without_redis.forget_counts,
        late_charges.missed.clear,
        counters.reset,
        processes.reset,
        reading.changed.clear,
        *(room.reset for room in rooms.installed()),
        current.renew,
        kill_switch.renew,
        background.renew,
    ):
        renew()


def _follow_settings(*, setting: str, **_: Any) -> None:
    """Let nothing outlive the settings that it was made by; they change in tests alone."""
    if setting in (conf.SETTING, "CACHES", *conf.others):
        before = conf.forget()
        if before is not None and before.redis == conf.MEMORY:
            counters.reset()  # the server that a test returns to must not get these
        for close in (
            process_clients.close,
            stores.close,
            outage.reset,
            without_redis.forget_counts,
            late_charges.missed.clear,
            told_once.claim.cache_clear,
            address.clear_cache,
            state_keys.forget_secret,
        ):
            close()
    elif setting == "SECRET_KEY":
        state_keys.forget_secret()
    elif setting in matching.SETTINGS:
        matching.clear_urlconfs()
