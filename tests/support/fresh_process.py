"""The process that runs the tests."""

from ratewindow import rooms
from ratewindow.conf import news, site_functions
from ratewindow.counting.counters import counters
from ratewindow.request import late_charges, told_once
from ratewindow.rulebook import current, edits, kill_switch, reading
from ratewindow.store import outage


def reset_process() -> None:
    """As in a process that has just started and read no rules."""
    current._held, reading._progress, edits._state = current._Held(), reading._Progress(), edits._State()
    for part in (kill_switch, outage, counters):
        part.reset()  # type: ignore[attr-defined]
    for room in rooms.installed():
        room.reset()
    late_charges.missed.clear()
    told_once.claim.cache_clear()
    news.left_out.forget()
    site_functions.failing.forget()
