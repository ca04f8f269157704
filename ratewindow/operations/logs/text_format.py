"""Lines of text by their pattern: fields with literal text between them, as nginx and Apache describe them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ratewindow.operations.logs import strftime, times
from ratewindow.operations.logs.entry import NO_HEADERS, Entry, LogError, Unreadable
from ratewindow.operations.logs.request_line import located, split, unescaped, with_query
from ratewindow.operations.logs.values import address, readable
from ratewindow.operations.logs.values import status as status_of

# What a field is: one of these, a piece of a time ("t:Y"), "header:NAME", or "" for what nobody needs.
TIMES: dict[str, Callable[[str], float]] = {"clf": times.clf, "iso": times.iso, "epoch": times.epoch}
_FORWARDED = "header:x-forwarded-for"
_USED = ("client", "user", "status", "request", "method", "target", "path", "query", "agent", "host", _FORWARDED)
_BLANKLESS = {"client", "status", "method", "target", "path", "query", "host", *TIMES}
_QUOTED = r"([^{quote}\\]*+(?:\\.[^{quote}\\]*+)*)"
PIECE = "t:"
LONGEST_HOST = 1000  # before a port


@dataclass(frozen=True, slots=True)
class Field:
    """A place of a line."""

    role: str
    name: str  # as the format writes it, for messages
    pattern: str = ""  # of its text; "" if the text around it says where it ends


class TextFormat:
    """Reads the lines of one pattern. What follows the last field is left alone."""

    def __init__(self, name: str, parts: Sequence[str | Field]) -> None:
        self.name = name
        roles: list[str] = []
        pattern = _pattern(parts, roles)
        self._match = re.compile(pattern + "()").match  # the last group is the text of every field that the format lacks
        places = {role: number for number, role in reversed(list(enumerate(roles, 1)))}
        self._check(places)
        nothing = len(roles) + 1
        self._places = [places.get(role, nothing) for role in _USED]
        self._at_s = _clock(places)
        self._headers = [(role[7:], place) for role, place in places.items() if role.startswith("header:")]

    def _check(self, places: Mapping[str, int]) -> None:
        if not any(role in TIMES or role.startswith(PIECE) for role in places):
            raise LogError("The format {name!r} has no time; without it nothing can be decided.", name=self.name)
        if "client" not in places and _FORWARDED not in places:
            raise LogError("The format {name!r} has no address of the client.", name=self.name)
        if "request" not in places and not ("method" in places and ("target" in places or "path" in places)):
            raise LogError("The format {name!r} has neither a request line nor method and path.", name=self.name)

    def read(self, line: str) -> Entry:
        """The request of a line. Raises Unreadable."""
        found = self._match(line)
        if found is None:
            raise Unreadable("not in the format {format}", format=self.name)
        client, user, status, request, method, path, stem, query, agent, host, forwarded = found.group(*self._places)
        if request:
            method, path, own_host = split(unescaped(request))
        else:
            path, own_host = located(unescaped(path or with_query(stem, query)))
        host = own_host if host in ("", "-") else readable(host)
        return Entry(
            self._at_s(found),
            address(client, forwarded),
            method,
            path,
            status_of(status),
            "" if user == "-" or user == '""' else readable(user),
            "" if agent == "-" else readable(agent),
            host,
            self._named(found) if self._headers else NO_HEADERS,
        )

    def _named(self, found: re.Match[str]) -> Mapping[str, str]:
        headers = {name: readable(text) for name, place in self._headers if (text := found[place]) not in ("-", "")}
        return headers or NO_HEADERS


def _clock(places: Mapping[str, int]) -> Callable[[re.Match[str]], float]:
    for role, read in TIMES.items():
        if role in places:
            place = places[role]
            return lambda found: read(found[place])
    pieces = {role.removeprefix(PIECE): place for role, place in places.items() if role.startswith(PIECE)}
    letters, groups = tuple(pieces), tuple(pieces.values())
    # With the whole match, since one group alone would not be a tuple.
    return lambda found: strftime.moment(letters, found.group(0, *groups)[1:])


def _pattern(parts: Sequence[str | Field], roles: list[str]) -> str:
    """The regular expression. Its parts do not go back on what others have matched, so its time grows with the line only.
    No group is possessive for that: in Python 3.11.2, which Debian 12 has, such a group matches too little."""
    pattern: list[str] = []
    before = ""
    for place, part in enumerate(parts):
        if isinstance(part, str):
            pattern.append(re.escape(part))
            before = part
            continue
        roles.append(part.role)
        after = parts[place + 1] if place + 1 < len(parts) else ""
        if isinstance(after, Field) and not part.pattern:
            raise LogError("Nothing separates {first} from {second} in the format.", first=part.name, second=after.name)
        pattern.append(f"({part.pattern})" if part.pattern else _up_to(part.role, before, str(after), len(roles)))
    return "".join(pattern)


def _up_to(role: str, before: str, after: str, group: int) -> str:
    if before[-1:] in ('"', "'") and after[:1] == before[-1:]:
        return _QUOTED.format(quote=before[-1])
    if not after:
        return r"(\S*+)" if role in _BLANKLESS else "(.*+)"
    if after[0] == ":" and role in ("client", "host"):
        # An address of IPv6 has the separator of the port itself: the last one counts. This part alone goes back, so it is short.
        return rf"([^ ]{{0,{LONGEST_HOST}}})"
    if role == "clf" and after[0] == " ":
        return r"([^ ]*+(?: [+-]\d{2}:?\d{2})?)"
    if after == " " and role not in _BLANKLESS:
        # Also a list: 203.0.113.9, 198.51.100.7. What was looked ahead at is not matched in another way when the rest fails.
        return rf"(?=([^ ]*+(?:(?<=,) [^ ]++)*))\{group}"
    if len(after) == 1 or (after[0] == " " and role in _BLANKLESS):
        return f"([^{re.escape(after[0])}]*+)"
    return f"((?:(?!{re.escape(after)}).)*)"
