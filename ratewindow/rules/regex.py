"""Regular expressions in rules: RE2's, whose time is linear in the length of the text, so that no pattern can hang a site.

The time also grows with the number of places, in all patterns together, that a byte of the path may be at. RE2 remembers where
the bytes led, so most patterns cost nothing once it knows them; but those that a path can be in the middle of in many ways at
once lead to somewhere new with each byte. So there are two kinds:

* A pattern is in step if it begins with ^ and each part of the path, from slash to slash, is plain text with at most one
  repeat, of common kinds of characters, or one choice of words, at its end. Then the path alone says where in the pattern
  it is. There may be thousands of these. A long one, such as a count of letters, still leads to somewhere new with each
  byte, and this costs as much as all patterns of its program that the path is in: so the long ones have a program apart.
* Any other pattern is free, in a third program, and the work for a path is at most `MOST_FREE_STEPS` for each of `LONGEST_BYTES`.

Beyond these bounds the largest are left out, so that no pattern disables a smaller one; enforced ones keep their place first.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

from ratewindow.limiter.problem import Problem

MOST_STEPS = 2_500  # of the program that RE2 compiles from a pattern; ``.{200}`` has 1,404, ``/[a-z]+/`` 5
MOST_STEPS_IN_STEP = 30_000  # of all patterns of a site
MOST_FREE_STEPS = 500
MOST_SHORT_STEPS = 100  # of a pattern in step that is matched with the thousands of others
LONGEST_BYTES = 1_024  # of a path that is matched; servers let 4 to 256 kB through
IN_STEP_MEMORY_BYTES = 8 << 20  # for all short patterns of a site, and for all long ones; RE2 allocates it when it needs it
FREE_MEMORY_BYTES = 1 << 20  # what does not fit is forgotten: more would be slower, since a path leads to new states anyway
PATTERN_MEMORY_BYTES = 1 << 20  # makes RE2 give up early on a pattern that is far too large

ENDS = ("$", r"\Z", r"\z")  # after plain text: the expression matches that text alone
_META = frozenset(".^$*+?{}[]|()")
_ESCAPED_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_INNERMOST_GROUP = re.compile(r"\([^()]*\)")
_CHARACTER = r"(?:[^\\^$*+?{}\[\]|()/]|\\[^\w\s])"
_KIND = r"(?:\\[dw]|a-z|A-Z|0-9|a-f|A-F|[_.@+~]|\\[-.])"
_CLASS = rf"(?:\\[dw]|\\p[LN]|\[-?{_KIND}+-?\]|\[\^/\])"
_GROUP = r"\((?:\?:|\?P?<\w+>)?"
_FIXED = rf"(?:{_CLASS}(?:\{{\d+\}})?|{_CHARACTER})"
_FIXED_GROUP = rf"{_GROUP}(?:{_CLASS}(?:\{{\d+\}})?|{_CHARACTER}+)\)"
_REPEAT = rf"{_CLASS}(?:[*+]|\{{\d+,\d*\}})"
_CHOICE = rf"{_CHARACTER}+(?:\|{_CHARACTER}+)+"
_PART = rf"(?:{_FIXED}|{_FIXED_GROUP})*(?:{_REPEAT}|{_GROUP}(?:{_REPEAT}|{_CHOICE})\))?"
_IN_STEP = re.compile(rf"(?:\(\?i\))?\^{_PART}(?:/{_PART})*(?:/\?)?(?:\.[*+])?\$?", re.ASCII)


def check_regex(pattern: str) -> None:
    """Raise ValueError if RE2 rejects the pattern, if it is too large, or if RE2 is not installed."""
    _re2()
    steps_of(pattern)


@lru_cache(maxsize=4096)
def steps_of(pattern: str) -> int:
    """The number of steps of a pattern's program."""
    _compiled(pattern)  # alone, since with anything before it ``*`` would be an expression
    steps = int(_compiled(f"(?:){pattern}").programsize)  # RE2 does not count plain text after a ^ that is first
    if steps > MOST_STEPS:
        raise Problem(
            "{pattern!r} is too large: it has {steps:,} steps, and may have {most:,}; count less in braces, and write [a-z] for "
            "\\pL where that will do",
            pattern=pattern,
            steps=steps,
            most=MOST_STEPS,
        )
    return steps


@lru_cache(maxsize=4096)
def is_in_step(pattern: str) -> bool:
    """Whether a path can be in the middle of the pattern in one way only, but for what is left of a choice of words."""
    return _IN_STEP.fullmatch(pattern) is not None


def program_of(pattern: str) -> str:
    """The program that matches it: ``short``, ``long`` or ``free``."""
    if not is_in_step(pattern):
        return "free"
    return "short" if steps_of(pattern) <= MOST_SHORT_STEPS else "long"


def beyond_bounds(patterns: Iterable[str], enforced: Collection[str] = ()) -> set[str]:
    """The patterns that exceed the bounds for all together: the largest of those that are not enforced, then of the others."""
    left, beyond = {True: MOST_STEPS_IN_STEP, False: MOST_FREE_STEPS}, set()
    for pattern in sorted(set(patterns), key=lambda each: (each not in enforced, steps_of(each), each)):
        if steps_of(pattern) <= left[is_in_step(pattern)]:
            left[is_in_step(pattern)] -= steps_of(pattern)
        else:
            beyond.add(pattern)
    return beyond


def check_bounds(pattern: str, others: Iterable[str] = ()) -> None:
    """Raise ValueError if a pattern is too large together with the site's others of its kind."""
    together = {pattern}
    for other in others:
        with suppress(ValueError):  # reported for its own row
            if is_in_step(other) == is_in_step(pattern):
                steps_of(other)
                together.add(other)
    most = MOST_STEPS_IN_STEP if is_in_step(pattern) else MOST_FREE_STEPS
    if sum(map(steps_of, together)) > most:
        raise Problem(
            "{pattern!r} is too large together with the other {others:,} expressions of its kind: it has {steps:,} steps, and "
            "all together may have {most:,}; count less in braces, begin with ^ and end each part of the path in at most one "
            "repeat or one choice, as in ^/blog/[a-z0-9-]+/$, or delete other rules",
            pattern=pattern,
            others=len(together) - 1,
            steps=steps_of(pattern),
            most=most,
        )


def literal_head(regex: str) -> tuple[str, str]:
    """The plain text with which everything begins that the expression matches, and the rest of the expression."""
    if not regex.startswith("^") or _has_choice(regex):
        return "", regex
    head, place = "", 1
    while place < len(regex):
        length = 2 if regex[place] == "\\" else 1
        letter, after = regex[place + length - 1 : place + length], regex[place + length : place + length + 1]
        is_plain = bool(letter) and not letter.isalnum() if length == 2 else letter not in _META
        if not is_plain or after in ("*", "?", "{"):
            break
        head, place = head + letter, place + length
        if after == "+":
            break
    return head, regex[place:]


def _has_choice(regex: str) -> bool:
    """Whether the expression as a whole is one or another, or may be."""
    if r"\Q" in regex or "[:" in regex:  # what follows may not be what it looks like
        return True
    text, groups = _ESCAPED_OR_CLASS.sub("", regex), 1
    while groups:
        text, groups = _INNERMOST_GROUP.subn("", text)
    return "|" in text


class RegexSet:
    """Many patterns matched together: a thousand take little longer than one. Must not contain those `beyond_bounds`."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self._heads = [literal_head(pattern)[0] for pattern in patterns]
        by_program: dict[str, list[int]] = {"short": [], "long": [], "free": []}
        for place, pattern in enumerate(patterns):
            by_program[program_of(pattern)].append(place)
        self._programs = [
            (places, _program(kind, [patterns[place] for place in places])) for kind, places in by_program.items() if places
        ]

    def found_in(self, text: str) -> list[int]:
        """The indexes of the patterns that match in the text. In one that is too long to be matched these are all that may:
        those whose plain beginning it has."""
        # A path may contain surrogates, if a client has sent bytes that are not UTF-8.
        path = text.encode(errors="surrogateescape").decode(errors="replace").encode()
        if len(path) > LONGEST_BYTES:
            return [place for place, head in enumerate(self._heads) if text.startswith(head)]
        return [places[each] for places, program in self._programs for each in program.Match(path) or ()]


def _program(kind: str, patterns: Iterable[str]) -> Any:
    re2 = _re2()
    kinds, memory = (re2.Set.SearchSet, FREE_MEMORY_BYTES) if kind == "free" else (re2.Set.MatchSet, IN_STEP_MEMORY_BYTES)
    program = kinds(_options(re2, memory))
    for pattern in patterns:
        program.Add(pattern)
    program.Compile()
    return program


def _compiled(pattern: str) -> Any:
    re2 = _re2()
    try:
        return re2.compile(pattern, _options(re2, PATTERN_MEMORY_BYTES))
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise Problem(
            "{pattern!r} is not a regular expression of RE2 ({reason}): write it without look-around and \\1, and count less in "
            "braces",
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
