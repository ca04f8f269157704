"""The text that everything a URL pattern or a regular expression matches begins and ends with, as far as it is plain."""

import re
from typing import Any, NamedTuple

from django.urls import LocalePrefixPattern
from django.urls.resolvers import RegexPattern

from ratewindow.rules.ways import PARAMETER, Language, Way, prefix_in

_META = frozenset(".^$*+?{}[]|()")
_TAIL = re.compile(r"(?:\\\W|[\w/~,;:@&=!% -])+\Z", re.ASCII)
_ESCAPED_OR_CLASS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_GROUP = re.compile(r"\([^()]*\)")


class Ends(NamedTuple):
    """The beginning and the end of every text; both are the whole text if `is_whole`."""

    head: str
    tail: str
    is_whole: bool


def ends_of_way(way: Way, language: Language) -> Ends:
    """The ends of every path that goes this way in this language, which is active now."""
    ends = [_ends_of_pattern(pattern, language, pattern is way.patterns[-1]) for pattern in way.patterns]
    head = tail = ""
    for each in ends:
        head += each.head
        if not each.is_whole:
            break
    for each in reversed(ends):
        tail = each.tail + tail
        if not each.is_whole:
            break
    is_whole = all(each.is_whole for each in ends)
    return Ends(f"/{head}", f"/{tail}" if is_whole else tail, is_whole)


def ends_of_regex(regex: str) -> Ends:
    """The ends of every text in which the expression is found."""
    if _has_choice(regex):
        return Ends("", "", is_whole=False)
    head, rest = _literal_head(regex) if regex.startswith("^") else ("", regex)
    return Ends(head, _literal_tail(regex), is_whole=rest in ("$", r"\Z", r"\z") and regex.startswith("^"))


def _ends_of_pattern(pattern: Any, language: Language, is_last: bool) -> Ends:
    if isinstance(pattern, LocalePrefixPattern):
        prefix = prefix_in(language, pattern)
        return Ends(prefix, prefix, is_whole=True)
    if isinstance(pattern, RegexPattern):
        return _ends_in_way(pattern.regex.pattern, is_last)
    literals = PARAMETER.split(str(pattern))
    return Ends(literals[0], literals[-1], is_whole=len(literals) == 1)


def _ends_in_way(regex: str, is_last: bool) -> Ends:
    """Those of an expression in a URLconf. Unless it is the last one, the rest of the path follows where its match ends."""
    if is_last:
        return ends_of_regex(regex)
    if regex == "" or (regex.startswith("^") and not _has_choice(regex) and not _literal_head(regex)[1]):
        head = _literal_head(regex)[0] if regex else ""
        return Ends(head, head, is_whole=True)
    return Ends(ends_of_regex(regex).head, "", is_whole=False)


def _has_choice(regex: str) -> bool:
    """Whether the expression as a whole is one or another, or may be."""
    if r"\Q" in regex or "[:" in regex:  # what follows may not be what it looks like
        return True
    text, groups = _ESCAPED_OR_CLASS.sub("", regex), 1
    while groups:
        text, groups = _GROUP.subn("", text)
    return "|" in text


def _literal_head(regex: str) -> tuple[str, str]:
    """The plain text after ``^``, and the rest of the expression."""
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


def _literal_tail(regex: str) -> str:
    """The plain text before ``$``."""
    body = re.sub(r"(\$|\\Z|\\z)\Z", "", regex)
    if body == regex or (len(body) - len(body.rstrip("\\"))) % 2:  # the end is open, or a plain dollar
        return ""
    found = _TAIL.search(body)
    if found is None:
        return ""
    before = body[: found.start()]
    is_class = (len(before) - len(before.rstrip("\\"))) % 2 == 1  # the d of \d
    return re.sub(r"\\(\W)", r"\1", found[0])[is_class:]
