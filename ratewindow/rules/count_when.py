"""The condition `count_when` of a rule: every request counts, a failed login, or a response with certain statuses."""

import re
from dataclasses import dataclass
from functools import lru_cache

from ratewindow.limiter.problem import Problem

ALWAYS = "always"
LOGIN_FAILED = "login_failed"


@dataclass(frozen=True)
class CountWhen:
    """What makes a request count: a login that failed during it, or the status of its response."""

    login_failed: bool = False
    statuses: frozenset[int] = frozenset()

    def counts(self, status: int | None, login_failed: bool) -> bool:
        """Whether a request counts whose response has this status; None if there is no response to look at."""
        return login_failed if self.login_failed else status in self.statuses


def written(text: str) -> str:
    """The condition in the form in which it is stored: ``always`` for `` ALWAYS ``, ``401,5xx`` for ``401 5XX``."""
    return ",".join(_words(text))


def counts_always(text: str) -> bool:
    """Whether every request counts."""
    return _words(text) == [ALWAYS]


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text.lower()) if word]


@lru_cache(maxsize=256)
def parse_count_when(text: str) -> CountWhen | None:
    """``"login_failed"``, or statuses such as ``"401,403,5xx"``; None for ``"always"``. Raises ValueError."""
    words = _words(text)
    if words == [ALWAYS]:
        return None
    if words == [LOGIN_FAILED]:
        return CountWhen(login_failed=True)
    statuses: set[int] = set()
    for word in words:
        if re.fullmatch(r"[1-5]xx", word):
            statuses.update(range(int(word[0]) * 100, int(word[0]) * 100 + 100))
        elif re.fullmatch(r"[1-5][0-9][0-9]", word):
            statuses.add(int(word))
        else:
            raise Problem(
                "{word!r} is not a status: write {always}, {login_failed}, or statuses such as 401,403,5xx",
                word=word[:20],
                always=ALWAYS,
                login_failed=LOGIN_FAILED,
            )
    if not statuses:
        raise Problem(
            "an empty condition counts nothing: write {always}, {login_failed}, or statuses such as 401,403,5xx",
            always=ALWAYS,
            login_failed=LOGIN_FAILED,
        )
    return CountWhen(statuses=frozenset(statuses))
