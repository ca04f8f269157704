"""Lines of text by their format: fields with literal text between them, as nginx describes them.

A line is split at the literals from left to right and never gone back on. So its time grows with its length alone, whatever the
format is: no format becomes a regular expression.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from ratewindow.operations.logs import times
from ratewindow.operations.logs.entry import NO_HEADERS, Entry, LogError, Unreadable
from ratewindow.operations.logs.request_line import located, split, unescaped, with_query
from ratewindow.operations.logs.values import address, readable
from ratewindow.operations.logs.values import status as status_of

# What a field is: one of these, "header:NAME", or "" for what nobody needs.
TIMES: dict[str, Callable[[str], float]] = {"clf": times.clf, "iso": times.iso, "epoch": times.epoch}
_FORWARDED = "header:x-forwarded-for"
_USED = ("client", "user", "status", "request", "method", "target", "path", "query", "agent", "host", _FORWARDED)
_BLANKLESS = {"client", "status", "method", "target", "path", "query", "host", *TIMES}
_WITH_PORT = ("client", "host")  # an address of IPv6 has the separator of the port itself
# Where a text ends: of a line, the literal after the text, and where the text begins. -1: nowhere.
End = Callable[[str, str, int], int]
Cut = Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Field:
    """A place of a line."""

    role: str
    name: str  # as the format writes it, for messages
    stop: str | None = None  # where it ends if another field follows at once; None: nobody knows
    end: End | None = None  # if the literals around it do not say it all


class TextFormat:
    """Reads the lines of one format. What follows the last field is left alone."""

    def __init__(self, name: str, parts: Sequence[str | Field]) -> None:
        self.name = name
        self._begin = parts[0] if isinstance(parts[0], str) else ""
        self._steps: list[tuple[End, str, int, Cut | None]] = []
        roles: list[str] = []
        for group in _groups(parts):
            self._steps.append((group.end, group.after, len(group.after), group.cut))
            roles += [field.role for field in group.fields]
        places = {role: number for number, role in reversed(list(enumerate(roles)))}
        self._check(places)
        nothing = len(roles)  # the text of every field that the format lacks
        self._places = [places.get(role, nothing) for role in _USED]
        self._clock, self._time = next((read, places[role]) for role, read in TIMES.items() if role in places)
        self._headers = [(role[7:], place) for role, place in places.items() if role.startswith("header:")]

    def _check(self, places: Mapping[str, int]) -> None:
        if TIMES.keys().isdisjoint(places):
            raise LogError("The format {name!r} has no time; without it nothing can be decided.", name=self.name)
        if "client" not in places and _FORWARDED not in places:
            raise LogError("The format {name!r} has no address of the client.", name=self.name)
        if "request" not in places and not ("method" in places and ("target" in places or "path" in places)):
            raise LogError("The format {name!r} has neither a request line nor method and path.", name=self.name)

    def read(self, line: str) -> Entry:
        """The request of a line. Raises Unreadable."""
        texts = self._texts(line)
        client, user, status, request, method, path, stem, query, agent, host, forwarded = [texts[at] for at in self._places]
        if request:
            method, path, own_host = split(unescaped(request))
        else:
            path, own_host = located(unescaped(path or with_query(stem, query)))
        host = own_host if host in ("", "-") else readable(host)
        return Entry(
            self._clock(texts[self._time]),
            address(client, forwarded),
            method,
            path,
            status_of(status),
            "" if user == "-" or user == '""' else readable(user),
            "" if agent == "-" else readable(agent),
            host,
            self._named(texts) if self._headers else NO_HEADERS,
        )

    def _texts(self, line: str) -> list[str]:
        """The text of each field, and an empty one."""
        texts: list[str] = []
        at = len(self._begin)
        matches = line.startswith(self._begin)
        for end_of, after, length, cut in self._steps:
            end = end_of(line, after, at) if matches else -1
            if end < 0:
                raise Unreadable("not in the format {format}", format=self.name)
            if cut is None:
                texts.append(line[at:end])
            else:
                texts += cut(line[at:end])
            at = end + length
        texts.append("")
        return texts

    def _named(self, texts: Sequence[str]) -> Mapping[str, str]:
        headers = {name: readable(text) for name, place in self._headers if (text := texts[place]) not in ("-", "")}
        return headers or NO_HEADERS


@dataclass(slots=True)
class _Group:
    """Fields that are found in a line as one text: neighbours, and what colons separate from a text that may have some itself."""

    before: str  # the literals around them
    fields: list[Field]
    after: str = ""
    has_colons: bool = False

    def takes(self, literal: str) -> bool:
        """Whether the literal is within the group."""
        return literal == ":" and self.fields[0].role in _WITH_PORT and (self.has_colons or len(self.fields) == 1)

    @property
    def end(self) -> End:
        """How the end of the text is found."""
        roles = {field.role for field in self.fields}
        end = self.fields[-1].end or _end(self.before, self.after, roles)
        return partial(_with_colons, end, len(self.fields) - 1) if self.has_colons else end

    @property
    def cut(self) -> Cut | None:
        """How the text is divided among several fields."""
        if len(self.fields) == 1:
            return None
        if self.has_colons:
            roles = [field.role for field in self.fields]
            return partial(_at_colons, len(roles), roles.index("client") if "client" in roles else 0)
        for field, following in pairwise(self.fields):
            if field.stop is None:
                raise LogError("Nothing separates {first} from {second} in the format.", first=field.name, second=following.name)
        return partial(_at_stops, [field.stop or "" for field in self.fields[:-1]])


def _groups(parts: Sequence[str | Field]) -> Iterator[_Group]:
    group, literal = None, ""
    for part in parts:
        if isinstance(part, str):
            literal += part
        elif group is None or (literal and not group.takes(literal)):
            if group is not None:
                group.after = literal
                yield group
            group, literal = _Group(literal, [part]), ""
        else:
            group.fields.append(part)
            group.has_colons, literal = bool(literal), ""
    if group is not None:
        group.after = literal
        yield group


def _end(before: str, after: str, roles: Set[str]) -> End:
    has_no_blank = not _BLANKLESS.isdisjoint(roles)
    if after and before[-1:] in ('"', "'") and after[0] == before[-1]:
        return _of_quoted
    if "clf" in roles and after[:1] in ("", " "):
        return _of_time
    if not after:
        return _of_word if has_no_blank else _of_line
    if after[0] == " " and has_no_blank:
        return _of_word
    return _of_list if after == " " else str.find


def _of_line(line: str, after: str, at: int) -> int:
    return len(line)


def _of_word(line: str, after: str, at: int) -> int:
    end = line.find(" ", at)
    if end < 0 and not after:
        return len(line)
    return end if end >= 0 and line.startswith(after, end) else -1


def _of_list(line: str, after: str, at: int) -> int:
    """A word, or several with commas: 203.0.113.9, 198.51.100.7."""
    end = line.find(after, at)
    while end > at and line[end - 1] == ",":
        end = line.find(after, end + 1)
    return end


def _of_time(line: str, after: str, at: int) -> int:
    """A time of the common format, which may have a zone after a blank."""
    end = line.find(" ", at)
    has_zone = end >= 0 and line[end + 1 : end + 2] in ("+", "-") and line[end + 2 : end + 4].isdecimal()
    return _of_word(line, after, end + 1 if has_zone else at)


def _of_quoted(line: str, after: str, at: int) -> int:
    end = line.find(after, at)
    while end > at and line[end - 1] == "\\" and _is_escaped(line, at, end):
        end = line.find(after, end + 1)
    return end


def _is_escaped(line: str, at: int, place: int) -> bool:
    start = place
    while start > at and line[start - 1] == "\\":
        start -= 1
    return (place - start) % 2 == 1


def _with_colons(end_of: End, least: int, line: str, after: str, at: int) -> int:
    end = end_of(line, after, at)
    return end if end >= 0 and line.count(":", at, end) >= least else -1


def _at_colons(count: int, greedy: int, text: str) -> Sequence[str]:
    """One of the texts has all colons that are too many."""
    pieces = text.split(":")
    end = greedy + 1 + len(pieces) - count
    return [*pieces[:greedy], ":".join(pieces[greedy:end]), *pieces[end:]]


def _at_stops(stops: Sequence[str], text: str) -> Sequence[str]:
    """Each text ends where the next one begins."""
    found = []
    for stop in stops:
        end = text.find(stop)
        head, text = (text[:end], text[end:]) if end >= 0 else (text, "")
        found.append(head)
    return [*found, text]
