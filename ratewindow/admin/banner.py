"""What stands on top of every page of ours while something is not as it should be: Redis silent, limits switched off."""

import time
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from ratewindow import conf
from ratewindow.health import overview
from ratewindow.rulebook import kill_switch

SAYS_OFF = "rw-says-off"  # the tag of a message that tells what the banner would tell
STATE, SWITCH = "admin:ratewindow_state", "admin:ratewindow_switch"


@dataclass(frozen=True)
class Banner:
    """`problems` are sentences; `off` says until when no limit holds, and by whom. A link is empty where it is not allowed."""

    problems: list[str]
    off: str
    state_url: str
    switch_url: str

    def __bool__(self) -> bool:
        return bool(self.problems or self.off)


def banner(request: HttpRequest, problems: bool = True, off: bool = True) -> Banner:
    user: Any = request.user
    return Banner(
        known(request).problems if problems else [],
        off_in_words() if off else "",
        reverse(STATE) if user.has_perm("ratewindow.view_throttlestat") else "",
        reverse(SWITCH) if user.has_perm("ratewindow.switch_limits") and conf.current().enabled else "",
    )


def known(request: HttpRequest) -> overview.Glance:
    """A glance at the state of the limiter, taken once for a page: Redis may be slow to say nothing."""
    if not hasattr(request, "_ratewindow_glance"):
        request._ratewindow_glance = overview.glance()  # type: ignore[attr-defined]
    return request._ratewindow_glance  # type: ignore[attr-defined,no-any-return]


def off_in_words() -> str:
    """``Limits are OFF until 12:30, by ann: a campaign``; empty while they are on."""
    if not conf.current().enabled:
        return "Limits are OFF by RATEWINDOW['ENABLED'] in the settings: nothing is refused, nothing counted."
    switch = kill_switch.turned
    if not switch.is_off(time.time()):
        return ""
    return f"Limits are {switch.words().replace('off', 'OFF', 1)}. Nothing is refused, nothing counted."
