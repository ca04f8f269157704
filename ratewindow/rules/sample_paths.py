"""Paths that go a way through the URLconf, to try rules on: made from its patterns, and kept only if these match them."""

import itertools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from django.urls import LocalePrefixPattern
from django.urls.resolvers import RegexPattern
from django.utils.regex_helper import normalize

from ratewindow.rules.ways import PARAMETER, Language, Way, prefix_in

MOST_SAMPLES = 4  # of a way in one language
_VALUES = (
    *("1", "a", "42", "abc", "2024", "12", "01", "2024-01-31", "a-b", "en", "A", "x/y", "a.b"),
    *("75194d3-0", "075194d3-6885-417e-a8a8-6c931e272f00", "c" * 32),
)
_NAMED = re.compile(r"\(\?P<(\w+)>")


class Sample(NamedTuple):
    """A path, and what its parameters are there."""

    path: str
    captured: dict[str, str]


def samples_of(way: Way, language: Language) -> list[Sample]:
    """Different paths that go this way in this language, which is active now; none if it is not known how to make one."""
    texts = [_texts_of(pattern, language) for pattern in way.patterns]
    longest = max(map(len, texts))
    if not all(texts):
        return []
    paths = ["".join(each[number % len(each)] for each in texts) for number in range(longest)]
    found = {path: _captured(way, path, language) for path in dict.fromkeys(paths)}
    return [Sample(f"/{path}", captured) for path, captured in found.items() if captured is not None][:MOST_SAMPLES]


def _texts_of(pattern: Any, language: Language) -> list[str]:
    """Texts that one pattern may match."""
    if isinstance(pattern, LocalePrefixPattern):
        return [prefix_in(language, pattern)]
    if isinstance(pattern, RegexPattern):
        texts = _texts_of_regex(pattern.regex.pattern)
        return [*texts, *(text + more for text in texts[:1] for more in ("/", "x"))]  # whose end may be open
    values = {name: _values_of(converter.regex) for name, converter in pattern.converters.items()}
    if not all(values.values()):
        return []
    return [
        PARAMETER.sub(lambda found, number=number: values[found[1]][number % len(values[found[1]])], str(pattern))  # type: ignore[misc]
        for number in range(max(map(len, values.values()), default=1))
    ]


def _values_of(regex: str) -> list[str]:
    """Two texts that the expression of a converter matches."""
    return list(itertools.islice((text for text in (*_VALUES, *_texts_of_regex(regex)) if re.fullmatch(regex, text)), 2))


def _texts_of_regex(regex: str) -> list[str]:
    """Texts that the expression may match, by the way in which Django makes them for `reverse`."""
    try:
        forms = normalize(regex)
    except (ValueError, IndexError, KeyError, AttributeError, TypeError):  # what Django cannot reverse
        return []
    inside = dict(_groups(regex))
    texts = []
    for form, names in forms:
        values = {name: _value_of(inside.get(name, "")) for name in names}
        try:
            texts.append(form % values)
        except (KeyError, TypeError, ValueError):  # a plain percent sign
            continue
    return texts


def _value_of(regex: str) -> str:
    """A text for a group."""
    usual = (text for text in _VALUES if re.fullmatch(regex, text))
    return next(usual, None) or next(iter(_texts_of_regex(regex)), "")


def _groups(regex: str) -> Iterator[tuple[str, str]]:
    """The outermost groups that capture: the name that Django gives each, and the expression inside."""
    place, number = 0, 0
    while place < len(regex):
        letter = regex[place]
        if letter == "\\":
            place += 2
        elif letter == "[":
            place = _end_of_class(regex, place)
        elif letter != "(" or regex.startswith("(?:", place):
            place += 1
        else:
            end = _end_of_group(regex, place)
            if named := _NAMED.match(regex, place):
                yield named[1], regex[named.end() : end - 1]
            elif not regex.startswith("(?", place):
                yield f"_{number}", regex[place + 1 : end - 1]
                number += 1
            place = end


def _end_of_group(regex: str, place: int) -> int:
    depth = 0
    while place < len(regex):
        letter = regex[place]
        if letter == "\\":
            place += 2
            continue
        if letter == "[":
            place = _end_of_class(regex, place)
            continue
        depth += (letter == "(") - (letter == ")")
        place += 1
        if not depth:
            break
    return place


def _end_of_class(regex: str, place: int) -> int:
    found = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL).match(regex, place)
    return found.end() if found else place + 1


def _captured(way: Way, path: str, language: Language) -> dict[str, str] | None:
    """The parameters of a path that goes this way; None if it does not."""
    captured: dict[str, str] = {}
    for pattern in way.patterns:
        if isinstance(pattern, LocalePrefixPattern):
            prefix = prefix_in(language, pattern)
            if not path.startswith(prefix):
                return None
            path = path.removeprefix(prefix)
            continue
        found = _match(pattern, path)
        if found is None:
            return None
        captured |= {name: text for name, text in found.groupdict().items() if text is not None}
        path = path[found.end() :]
    return captured


def _match(pattern: Any, path: str) -> re.Match[str] | None:
    """As the pattern's own `match`, which calls the site's converters, and they may query the database."""
    if isinstance(pattern, RegexPattern) and pattern._is_endpoint and pattern.regex.pattern.endswith("$"):  # type: ignore[attr-defined]
        return pattern.regex.fullmatch(path)
    found: re.Match[str] | None = pattern.regex.search(path)
    return found
