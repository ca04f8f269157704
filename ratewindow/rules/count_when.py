"""Which requests count, for rules that know it only when the answer is there: failed logins, or statuses."""

import re
from dataclasses import dataclass
from functools import lru_cache

ALWAYS = "always"
LOGIN_FAILED = "login_failed"


@dataclass(frozen=True)
class CountWhen:
    """What makes a request count: a login that failed during it, or the status of its answer."""

    login_failed: bool = False
    statuses: frozenset[int] = frozenset()

    def counts(self, status: int | None, login_failed: bool) -> bool:
        """Whether a request counts whose answer has this status; None: nobody will see one."""
        return login_failed if self.login_failed else status in self.statuses


def written(text: str) -> str:
    """The same in the one form in which it is stored: ``always`` of `` ALWAYS ``, ``401,5xx`` of ``401 5XX``."""
    return ",".join(_words(text))


def counts_always(text: str) -> bool:
    """Whether every request counts, however that is typed."""
    return _words(text) == [ALWAYS]


def _words(text: str) -> list[str]:
    return [word for word in re.split(r"[\s,]+", text.lower()) if word]


@lru_cache(maxsize=256)
def parse_count_when(text: str) -> CountWhen | None:
    """``"login_failed"``, or statuses as ``"401,403,5xx"``; None for ``"always"``. ValueError names what is neither."""
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
            raise ValueError(f"{word[:20]!r} is no status: write {ALWAYS}, {LOGIN_FAILED}, or statuses such as 401,403,5xx")
    if not statuses:
        raise ValueError(f"an empty condition counts nothing: write {ALWAYS}, {LOGIN_FAILED}, or statuses such as 401,403,5xx")
    return CountWhen(statuses=frozenset(statuses))
