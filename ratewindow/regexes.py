"""Regular expressions in rules: RE2's, whose time grows with the text only, so that no pattern can hang a site."""

from collections.abc import Sequence
from typing import Any

SET_MEMORY_BYTES = 64 << 20  # for all patterns of a site together; what RE2 takes when it needs it, not at once


def check_regex(pattern: str) -> None:
    """ValueError says what RE2 does not take about a pattern, or that RE2 is not there."""
    re2 = _re2()
    try:
        re2.compile(pattern, _options(re2))
    except re2.error as error:
        told = error.args[0].decode(errors="replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise ValueError(
            f"{pattern!r} is no regular expression of RE2 ({told}): look-around and \\1 are not known there"
        ) from None


class RegexSet:
    """Many patterns tried at once: a thousand take little longer than one."""

    def __init__(self, patterns: Sequence[str]) -> None:
        re2 = _re2()
        options = _options(re2)
        options.max_mem = SET_MEMORY_BYTES
        self._set = re2.Set.SearchSet(options)
        for pattern in patterns:
            self._set.Add(pattern)
        self._set.Compile()

    def found_in(self, text: str) -> list[int]:
        """The places of the patterns that occur in the text."""
        # A path may hold what UTF-8 cannot say, when a client has sent such bytes.
        return self._set.Match(text.encode(errors="surrogateescape").decode(errors="replace")) or []


def _options(re2: Any) -> Any:
    options = re2.Options()
    options.log_errors = False  # they are raised, and told in the form
    options.dot_nl = True  # in a path, %0a is a character like any other
    return options


def _re2() -> Any:
    try:
        import re2
    except ImportError:
        raise ValueError(
            "regular expressions need google-re2, with which no pattern can hang the site: pip install 'ratewindow[regex]'"
        ) from None
    return re2
