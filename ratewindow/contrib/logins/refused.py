"""The exception of a refused login, which each way in answers in its own form.

What calls ``authenticate()`` catches what its framework raises: REST framework its `Throttled`, Django Ninja its `HttpError`; a
library of GraphQL shows the message and the extensions of any. All else reaches our middleware, which answers as ever.
"""

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

from ratewindow.exceptions import RateLimited
from ratewindow.limiter.types import Decision
from ratewindow.request import refusal
from ratewindow.request.headers import retry_after_s

# Of each framework the exception, and what it is made with: of the wait, or of status and text.
_FRAMEWORKS: dict[tuple[str, str], Callable[[int | None, int, str], tuple[Any, ...]]] = {
    ("rest_framework.exceptions", "Throttled"): lambda wait_s, status, text: (wait_s,),
    ("ninja.errors", "HttpError"): lambda wait_s, status, text: (status, text),
}


class LoginRefused(RateLimited):
    """A login that was refused before its password was checked."""

    def __init__(self, decision: Decision) -> None:
        Exception.__init__(self, decision)  # those of the frameworks follow, each with arguments of its own
        self.decision = decision

    @property
    def extensions(self) -> dict[str, Any]:
        """What a library of GraphQL shows beside the message."""
        return {"code": "THROTTLED", "retryAfter": retry_after_s(self.decision)}

    def __str__(self) -> str:
        return refusal.answer_to(self.decision).detail


def exception_for(decision: Decision) -> LoginRefused:
    """The exception, which is also one of each framework that the site uses."""
    used = tuple(place for place in _FRAMEWORKS if place[0] in sys.modules)
    error = _type(used)(decision)
    answer = refusal.answer_to(decision)
    for module, name in used:
        arguments = _FRAMEWORKS[module, name](retry_after_s(decision), answer.status, answer.detail)
        getattr(sys.modules[module], name).__init__(error, *arguments)
        error.__dict__["status_code"] = answer.status
    return error


@lru_cache(maxsize=4)
def _type(used: tuple[tuple[str, str], ...]) -> type[LoginRefused]:
    bases = [getattr(sys.modules[module], name) for module, name in used]
    return cast("type[LoginRefused]", type("LoginRefused", (LoginRefused, *bases), {})) if bases else LoginRefused
