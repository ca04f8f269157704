"""Regular expressions in rules: RE2's, whose time grows with the text only, so that no pattern can hang a site.

It also grows with the pattern, and all patterns of a site are one program. So each has a bound, and all together have one:
where they do not fit, the largest are left out, so that no pattern costs a smaller one its rule. Within these bounds
all of them compile, and find what they should, in `SET_MEMORY_BYTES`.
"""

import random
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

MOST_STEPS = 2_500  # of the program that RE2 makes of a pattern; ``.{255}`` has 1,789, ``/[a-z]+/`` 5
MOST_STEPS_TOGETHER = 30_000
SET_MEMORY_BYTES = 16 << 20  # for all patterns of a site together; what RE2 takes when it needs it, not at once
PATTERN_MEMORY_BYTES = 1 << 20  # in which RE2 itself ends early with a pattern that is far too large

TRIAL_LENGTH = 4_000  # characters of a path, about as many as gunicorn lets through
TRIAL_MS = 10.0  # of the processor; a thousand usual patterns take a fiftieth


def check_regex(pattern: str) -> None:
    """ValueError says what RE2 does not take about a pattern, that it is too large, or that RE2 is not there."""
    _re2()
    steps_of(pattern)


@lru_cache(maxsize=4096)
def steps_of(pattern: str) -> int:
    """How many steps the program of a pattern has."""
    steps = int(_compiled(pattern).programsize)
    if steps > MOST_STEPS:
        raise ValueError(_too_large(pattern, f"{steps:,} steps"))
    return steps


def without_room(patterns: Iterable[str]) -> set[str]:
    """The patterns that do not fit beside the others, the largest first."""
    left, beyond = MOST_STEPS_TOGETHER, set()
    for pattern in sorted(set(patterns), key=lambda each: (steps_of(each), each)):
        left -= steps_of(pattern)
        if left < 0:
            beyond.add(pattern)
    return beyond


def try_regex(pattern: str, others: Iterable[str] = ()) -> None:
    """ValueError says that a pattern does not fit beside the others that the site has, or takes too long for one path."""
    together = {pattern}
    for other in others:
        with suppress(ValueError):  # which its own row says
            steps_of(other)
            together.add(other)
    if sum(map(steps_of, together)) > MOST_STEPS_TOGETHER:
        raise ValueError(
            f"{pattern!r} does not fit beside the other {len(together) - 1:,} expressions: it has {steps_of(pattern):,} steps, "
            f"and all together may have {MOST_STEPS_TOGETHER:,}; count less in braces, or delete other rules"
        )
    took_ms = _trial_ms(RegexSet([*together]), pattern)
    if took_ms > TRIAL_MS:
        raise ValueError(
            f"{pattern!r} takes {took_ms:.0f} ms for one long path, and may take {TRIAL_MS:.0f}: what is counted in braces, such "
            "as .{300}, is followed from each character anew; write .* instead, count less, or begin with ^"
        )


class RegexSet:
    """Many patterns tried at once: a thousand take little longer than one. Those `without_room` must not be among them."""

    def __init__(self, patterns: Sequence[str]) -> None:
        re2 = _re2()
        self._set = re2.Set.SearchSet(_options(re2, SET_MEMORY_BYTES))
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def found_in(self, text: str) -> list[int]:
        """The places of the patterns that occur in the text."""
        # A path may hold what UTF-8 cannot say, when a client has sent such bytes.
        return self._set.Match(text.encode(errors="surrogateescape").decode(errors="replace")) or []


def _trial_ms(patterns: RegexSet, pattern: str) -> float:
    """The processor's time for a path that gives the pattern much to do: its own letters in any order, behind its beginning."""
    begin = ""
    with suppress(Exception):  # not every pattern has one
        begin = str(_compiled(pattern).possiblematchrange(200)[0]).split("\x00")[0]
    chance = random.Random(pattern)  # the same at each trial
    took_ms = TRIAL_MS
    for _ in range(3):  # a machine may be busy with something else
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
            raise ValueError(_too_large(pattern, "far more steps")) from None
        raise ValueError(
            f"{pattern!r} is no regular expression of RE2 ({reason}): look-around and \\1 are not known there"
        ) from None


def _too_large(pattern: str, steps: str) -> str:
    return (
        f"{pattern!r} is too large: it has {steps}, and may have {MOST_STEPS:,}; count less in braces, and write [a-z] for "
        "\\pL where that will do"
    )


def _options(re2: Any, memory_bytes: int) -> Any:
    options = re2.Options()
    options.log_errors = False  # they are raised, and told in the form
    options.dot_nl = True  # in a path, %0a is a character like any other
    options.max_mem = memory_bytes
    return options


def _re2() -> Any:
    try:
        import re2
    except ImportError:
        raise ValueError(
            "regular expressions need google-re2, with which no pattern can hang the site: pip install 'ratewindow[regex]'"
        ) from None
    return re2
