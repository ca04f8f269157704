"""A log as requests: one or several files, in the order of time."""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import monotonic
from typing import IO

from ratewindow.limiter.problem import Problem
from ratewindow.operations.logs.entry import Entry, LogError, Unreadable
from ratewindow.operations.logs.formats import Format, fitting, named
from ratewindow.operations.logs.lines import MOST_BYTES, TOO_LONG, LogFile, OutOfTime
from ratewindow.operations.logs.merging import AT_S, FAR, NEAR, merged

Source = str | Path | IO[bytes]
Read = Callable[[str], Entry | None]
MOST_UNREADABLE = 0.1  # of all lines
MOST_LATE = 0.01  # of all requests
SHOWN = 3
_READING = 2 / 3  # of the time: what has been read by then is still to be decided
_FIRST_JUDGED = 10_000  # lines, before the share of unreadable ones says anything
_GUESSED_BY = 200  # lines
_TEXT = 100  # characters of a line that are shown


@dataclass(frozen=True, slots=True)
class Example:
    """A line that cannot be read."""

    file: str
    line: int  # its number, from 1
    text: str
    why: Unreadable

    @property
    def problem(self) -> Problem:
        return Problem("{file}, line {line}: {why}", file=self.file, line=self.line, why=self.why)

    def __str__(self) -> str:
        return str(self.problem)


@dataclass(frozen=True, slots=True)
class Most:
    """How much of a log is read: its first requests, and as many as are taken in this time. A larger file is an error.

    The time is for all that is done with the log, and begins once it is opened.
    """

    requests: int
    seconds: float
    file_bytes: int  # unpacked


def open_logs(paths: Iterable[Source], format: str | None = None, most: Most | None = None) -> "Log":  # noqa: A002
    """The log of these files, ``-`` for standard input, in the format of a name or a string, or in what they seem to have.

    Raises LogError, also while it is read.
    """
    given = named(format) if format else None
    if most is None:
        return Log([_Part(LogFile(path), given) for path in paths])
    begun_s = monotonic()
    read_until_s = begun_s + _READING * most.seconds
    parts = [_Part(LogFile(path, most.file_bytes, read_until_s), given) for path in paths]
    return Log(parts, most.requests, begun_s + most.seconds)


class _Part:
    """One file with its format and the time of its first request."""

    def __init__(self, file: LogFile, given: Format | None) -> None:
        self.file = file
        first = file.first_lines()[:_GUESSED_BY]
        known = [line for line in first if line is not TOO_LONG]
        self.format = fitting(known, given)
        if first and self.format is None:
            raise _no_format(file.name, first)
        self.first_s = min(_times(self.format, known), default=-inf) if self.format else -inf


class Log:
    """Requests, in the order of time; each iteration reads the files again and counts from nothing."""

    def __init__(self, parts: list[_Part], most_requests: int | None = None, until_s: float = inf) -> None:
        self._parts, self._most_requests, self._until_s = parts, most_requests, until_s
        self._is_wide = any(part.file.is_read_once for part in parts)  # so that requests far out of order are sorted
        self._begin()

    def _begin(self) -> None:
        self.whole_seconds = True  # no request so far had a fraction of a second
        self.read = self.skipped = self.unreadable = 0  # lines; those skipped are about something other than a request
        self.out_of_order = 0  # requests that came after later ones
        self.is_cut = False  # there is more than was to be read
        self.examples: list[Example] = []  # of unreadable lines, the first ones

    @property
    def format(self) -> str:
        """Its name, or the names of several."""
        return ", ".join(dict.fromkeys(part.format.name for part in self._parts if part.format))

    @property
    def share_read(self) -> float:
        """How much has been read, 0 to 1; 0 where nobody knows how much there is."""
        size = sum(part.file.size for part in self._parts)
        return min(sum(part.file.done_bytes for part in self._parts) / size, 1.0) if size else 0.0

    @property
    def is_unordered(self) -> bool:
        """Whether so many requests came after later ones that nothing can be said of what limits would have done."""
        return self.out_of_order > MOST_LATE * self.read

    def widen(self) -> bool:
        """Let the next iteration sort requests that are far out of order; whether this one did not."""
        was_wide, self._is_wide = self._is_wide, True
        return not was_wide

    def has_time(self) -> bool:
        """Whether there is time to go on; if not, the log is cut here."""
        is_over = monotonic() >= self._until_s
        self.is_cut = self.is_cut or is_over
        return not is_over

    def __iter__(self) -> Iterator[Entry]:
        self._begin()
        return self._entries()

    def _entries(self) -> Iterator[Entry]:
        latest = -inf
        window = max(NEAR, FAR // max(1, len(self._parts))) if self._is_wide else NEAR
        for entry in merged([(self._begins_at_s(part), self._batches(part)) for part in self._parts], window):
            at_s = entry.at_s
            if at_s < latest:
                self.out_of_order += 1
            else:
                latest = at_s
            yield entry
        self._judge(last=True)

    def _begins_at_s(self, part: _Part) -> float:
        """From when on a file is read: from the beginning, where its first lines may not be the oldest."""
        return -inf if self._is_wide else part.first_s

    def _batches(self, part: _Part) -> Iterator[list[Entry]]:
        if part.format is None:
            return
        read = copy(part.format).read  # what it remembers of a file begins from nothing
        number = 0
        try:
            for lines in part.file.batches():
                yield self._batch(part.file, read, lines, number)
                number += len(lines)
                if self.is_cut:
                    return
        except OutOfTime:
            self.is_cut = True

    def _batch(self, file: LogFile, read: Read, lines: list[str | None], number: int) -> list[Entry]:
        """The requests of some lines, `number` of which came before."""
        batch: list[Entry] = []
        most = inf if self._most_requests is None else self._most_requests - self.read
        for line in lines:
            number += 1
            if file.is_late():  # whatever the lines are
                self.is_cut = True
                break
            if not line and line is not TOO_LONG:
                continue
            try:
                if line is TOO_LONG:
                    raise Unreadable("longer than {bytes} bytes", bytes=MOST_BYTES)
                entry = read(line)
            except Unreadable as why:
                if line is TOO_LONG or line.strip():
                    self._note(Example(file.name, number, (line or "")[:_TEXT], why))
                continue
            if entry is None:
                self.skipped += 1
            elif len(batch) == most:
                self.is_cut = True
                break
            else:
                batch.append(entry)
        self.read += len(batch)
        if self.whole_seconds and not all(map(float.is_integer, map(AT_S, batch))):
            self.whole_seconds = False
        self._judge(last=False)
        return batch

    def _note(self, example: Example) -> None:
        self.unreadable += 1
        if len(self.examples) < SHOWN:
            self.examples.append(example)

    def _judge(self, last: bool) -> None:
        lines = self.read + self.skipped + self.unreadable
        if (self.unreadable < SHOWN and self.read) or not self.unreadable:
            return
        if (last or lines >= _FIRST_JUDGED) and self.unreadable > lines * MOST_UNREADABLE:
            raise LogError(
                "{unreadable} of {lines} lines cannot be read in the format {format}, more than {most} %. Name the right "
                "format. The first ones:\n{examples}",
                unreadable=self.unreadable,
                lines=lines,
                format=self.format,
                most=round(MOST_UNREADABLE * 100),
                examples=_shown(self.examples),
            )


def _times(form: Format, lines: list[str]) -> Iterator[float]:
    for line in lines:
        try:
            entry = form.read(line)
        except Unreadable:
            continue
        if entry:
            yield entry.at_s


def _no_format(name: str, lines: list[str | None]) -> LogError:
    return LogError(
        "The format of {name} is not one of those known. Name it, or write its log_format or map of JSON fields. "
        "Its first lines:\n{examples}",
        name=name,
        examples="\n".join("  …" if line is TOO_LONG else f"  {line[:_TEXT]!r}" for line in lines[:SHOWN]),
    )


def _shown(examples: list[Example]) -> Problem:
    """Each with its line below it; the message itself has no words."""
    message = "\n".join(f"  {{problem{place}}}\n    {{text{place}!r}}" for place in range(len(examples)))
    problems = {f"problem{place}": each.problem for place, each in enumerate(examples)}
    return Problem(message, **problems, **{f"text{place}": each.text for place, each in enumerate(examples)})
