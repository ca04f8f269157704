"""This process: what its threads do, and what starts, changes and ends with it.

Each part keeps its state in its own module, where a request reads it in one step. This module alone knows all the parts:
Django starts them (`start`), a fork renews them, changed settings replace what they were made by, and `end` is for the exit.
"""

import atexit
from typing import Any

from django.core.signals import setting_changed

from ratewindow import background, conf
from ratewindow.background import Chore
from ratewindow.conf import site_functions
from ratewindow.health import outage_signals, processes
from ratewindow.identity import address
from ratewindow.limiter import forks
from ratewindow.limiter.redis.connections import UNUSED_S
from ratewindow.operations import shared_prefix
from ratewindow.operations.history import recording
from ratewindow.reporting import counters
from ratewindow.request import count_by_answer, local_counts, without_redis
from ratewindow.rulebook import announce, current, edits, kill_switch, reading, recordings
from ratewindow.rules import matching
from ratewindow.store import breaker, leasing, malformed, outage, process_clients, state_keys, stores

CHORES = (
    # Each call to Redis within `TIMEOUT`.
    Chore(edits.check_redis, edits.interval_s),
    Chore(processes.beat, lambda: processes.BEAT_S),
    Chore(stores.close_unused, lambda: UNUSED_S / 2),
    Chore(local_counts.tidy, lambda: local_counts.TIDY_S),
    # The database, a server that hangs, and listeners may hold up these for seconds: each has a thread that the others do
    # not wait for, while there is something to do.
    Chore(edits.reread, edits.interval_s, "rules", edits.is_stale),
    Chore(edits.reread_switch, lambda: edits.REREAD_ALONE_S, "rules", edits.is_alone),
    Chore(shared_prefix.announce_unless_tested, lambda: shared_prefix.ANNOUNCE_S, "rules"),
    Chore(outage.breaker.look, lambda: breaker.PROBE_S, "probes", outage.breaker.is_watched),
    Chore(stores.shards.look, lambda: breaker.PROBE_S, "probes", stores.shards.are_watched),
    Chore(counters.flush, lambda: counters.FLUSH_S, "reports", counters.has_unsent),
    Chore(announce.send_waiting, lambda: announce.INTERVAL_S, "signals", announce.is_waiting),
    Chore(outage_signals.send, lambda: outage_signals.LOOK_S, "signals", outage_signals.is_waiting),
)


def start() -> None:
    """Connect the parts; called once, when Django starts. Threads start with the first request."""
    background.assign(CHORES, outage.is_known)
    outage.breaker.holds = without_redis.in_words
    breaker.listen(outage.forget_failures)
    breaker.listen(outage_signals.add)  # which also starts the probes
    site_functions.listen(counters.note)
    edits.connect()
    recording.connect()
    count_by_answer.connect()
    setting_changed.connect(_follow_settings, dispatch_uid="ratewindow.process")
    forks.after_fork(_renew)
    atexit.register(end)


def end() -> None:
    """What a process does last."""
    counters.flush_last()
    processes.leave()


def _renew() -> None:
    """In a fork: connections, counts, locks and threads are the parent's; the rules stay good."""
    for drop in (process_clients.drop, stores.drop, leasing.forget, malformed.forget, local_counts.reset):
        drop()
    for reset in (counters.reset, processes.reset, announce.reset):
        reset()
    for renew in (site_functions.renew, current.renew, kill_switch.renew, recordings.renew, background.renew):
        renew()


def _follow_settings(*, setting: str, **_: Any) -> None:
    """Let nothing outlive the settings that it was made by; they change in tests alone."""
    if setting in (conf.SETTING, "CACHES"):
        before = conf.forget()
        if before is not None and before.redis == conf.MEMORY:
            counters.forget()  # the server that a test returns to must not get these
        for close in (process_clients.close, stores.close, leasing.forget, outage.reset, local_counts.reset):
            close()
        address.clear_cache()
        state_keys.forget_secret()
    elif setting == "SECRET_KEY":
        state_keys.forget_secret()
    elif setting in matching.SETTINGS:
        matching.clear_urlconfs()


def reset() -> None:
    """As in a process that has just started and read no rules: for tests."""
    for part in (current, reading, kill_switch, recordings, edits, outage, counters):
        part.reset()
    malformed.forget()
    site_functions.failing.clear()
