"""Regular expressions in rules: RE2's, whose time is linear in the length of the text, so that no pattern can hang a site.

It is also linear in the size of the pattern, and all patterns of a site are compiled into one program. So the size of each
is bounded, and the size of all together: beyond it the largest are left out, so that no pattern disables a smaller one.
Within these bounds all of them compile and match in `SET_MEMORY_BYTES`.
"""

import random
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from ratewindow.limiter.problem import Problem

MOST_STEPS = 2_500  # of the program that RE2 compiles from a pattern; ``.{255}`` has 1,789, ``/[a-z]+/`` 5
MOST_STEPS_TOGETHER = 30_000
SET_MEMORY_BYTES = 16 << 20  # for all patterns of a site together; RE2 allocates it when it needs it
PATTERN_MEMORY_BYTES = 1 << 20  # makes RE2 give up early on a pattern that is far too large

TRIAL_LENGTH = 4_000  # characters of a path, about as many as gunicorn accepts
TRIAL_MS = 10.0  # of processor time; a thousand common patterns take a fiftieth


def check_regex(pattern: str) -> None:
    """Raise ValueError if RE2 rejects the pattern, if it is too large, or if RE2 is not installed."""
    _re2()
    steps_of(pattern)


@lru_cache(maxsize=4096)
def steps_of(pattern: str) -> int:
    """The number of steps of a pattern's program."""
    steps = int(_compiled(pattern).programsize)
    if steps > MOST_STEPS:
        raise Problem(
            "{pattern!r} is too large: it has {steps:,} steps, and may have {most:,}; count less in braces, and write [a-z] for "
            "\\pL where that will do",
            pattern=pattern,
            steps=steps,
            most=MOST_STEPS,
        )
    return steps


def without_room(patterns: Iterable[str]) -> set[str]:
    """The patterns that exceed the bound for all together: the largest ones."""
    left, beyond = MOST_STEPS_TOGETHER, set()
    for pattern in sorted(set(patterns), key=lambda each: (steps_of(each), each)):
        left -= steps_of(pattern)
        if left < 0:
            beyond.add(pattern)
    return beyond


def try_regex(pattern: str, others: Iterable[str] = ()) -> None:
    """Raise ValueError if a pattern is too large together with the site's others, or too slow for one path."""
    together = {pattern}
    for other in others:
        with suppress(ValueError):  # reported for its own row
            steps_of(other)
            together.add(other)
    if sum(map(steps_of, together)) > MOST_STEPS_TOGETHER:
        raise Problem(
            "{pattern!r} is too large together with the other {others:,} expressions: it has {steps:,} steps, and all "
            "together may have {most:,}; count less in braces, or delete other rules",
            pattern=pattern,
            others=len(together) - 1,
            steps=steps_of(pattern),
            most=MOST_STEPS_TOGETHER,
        )
    took_ms = _trial_ms(RegexSet([*together]), pattern)
    if took_ms > TRIAL_MS:
        raise Problem(
            "{pattern!r} takes {took_ms:.0f} ms for one long path, and may take {trial_ms:.0f}: a count in braces, such as "
            ".{{300}}, is matched from each character of the path; write .* instead, count less, or begin with ^",
            pattern=pattern,
            took_ms=took_ms,
            trial_ms=TRIAL_MS,
        )


class RegexSet:
    """Many patterns matched together: a thousand take little longer than one. Must not contain those `without_room`."""

    def __init__(self, patterns: Sequence[str]) -> None:
        re2 = _re2()
        self._set = re2.Set.SearchSet(_options(re2, SET_MEMORY_BYTES))
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def found_in(self, text: str) -> list[int]:
        """The indexes of the patterns that match in the text."""
        # A path may contain surrogates, if a client has sent bytes that are not UTF-8.
        return self._set.Match(text.encode(errors="surrogateescape").decode(errors="replace")) or []


def _trial_ms(patterns: RegexSet, pattern: str) -> float:
    """The processor time for a hard path: the pattern's literal beginning, then its own characters in random order."""
    begin = ""
    with suppress(Exception):  # not every pattern has a literal beginning
        begin = str(_compiled(pattern).possiblematchrange(200)[0]).split("\x00")[0]
    chance = random.Random(pattern)  # the same in each trial
    took_ms = TRIAL_MS
    for _ in range(3):  # the machine may be busy
        text = begin + "".join(chance.choices([*pattern, "/", "a"], k=TRIAL_LENGTH))
        began_s = time.thread_time()
        patterns.found_in(text)
        took_ms = (time.thread_time() - began_s) * 1000
        if took_ms <= TRIAL_MS:
            break
    return took_ms


def _compiled(pattern: str) -> Any:
    re2 = _re2()
    try:
        return re2.compile(pattern, _options(re2, PATTERN_MEMORY_BYTES))
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        if "too large" in reason:
            raise Problem(
                "{pattern!r} is too large: it has far more steps than the {most:,} that it may have; count less in braces, and "
                "write [a-z] for \\pL where that will do",
                pattern=pattern,
                most=MOST_STEPS,
            ) from None
        raise Problem(
            "{pattern!r} is not a regular expression of RE2 ({reason}): it has no look-around and no \\1",
            pattern=pattern,
            reason=reason,
        ) from None


def _options(re2: Any, memory_bytes: int) -> Any:
    options = re2.Options()
    options.log_errors = False  # they are raised, and shown in the form
    options.dot_nl = True  # in a path, %0a is a character like any other
    options.max_mem = memory_bytes
    return options


def _re2() -> Any:
    try:
        import re2
    except ImportError:
        raise Problem(
            "regular expressions need google-re2, with which no pattern can hang the site: pip install 'ratewindow[regex]'"
        ) from None
    return re2
