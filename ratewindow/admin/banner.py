"""The banner on every page of the app while Redis does not answer or limits are switched off."""

import time
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.utils.translation import gettext

from ratewindow import conf
from ratewindow.admin.addresses import reverse, shown_by
from ratewindow.health import overview
from ratewindow.rulebook import kill_switch

OFF_TAG = "rw-says-off"  # the extra tag of a message that already says what the banner would
STATE, SWITCH = "admin:ratewindow_state", "admin:ratewindow_switch"


@dataclass(frozen=True)
class Banner:
    """`problems` are sentences; `off` is one, empty while limits are on. The URLs are empty for users without permission."""

    problems: list[str]
    off: str
    state_url: str
    switch_url: str

    def __bool__(self) -> bool:
        return bool(self.problems or self.off)


def banner(request: HttpRequest, problems: bool = True, off: bool = True) -> Banner:
    user: Any = request.user
    shown_by(request)
    return Banner(
        glance(request).problems if problems else [],
        off_message() if off else "",
        reverse(STATE) if user.has_perm("ratewindow.view_throttlestat") else "",
        reverse(SWITCH) if user.has_perm("ratewindow.switch_limits") and conf.current().enabled else "",
    )


def glance(request: HttpRequest) -> overview.Glance:
    """The state of the limiter, read once per request, since Redis may answer slowly."""
    if not hasattr(request, "_ratewindow_glance"):
        request._ratewindow_glance = overview.glance()  # type: ignore[attr-defined]
    return request._ratewindow_glance  # type: ignore[attr-defined,no-any-return]


def off_message() -> str:
    """``Limits are OFF until 12:30, by ann: a campaign. ...``; empty while limits are on."""
    if not conf.current().enabled:
        return gettext("Limits are OFF by RATEWINDOW['ENABLED'] in the settings. Nothing is refused or counted.")
    switch = kill_switch.turned
    if not switch.is_off(time.time()):
        return ""
    return gettext("Limits are OFF %s. Nothing is refused or counted.") % switch.how()
