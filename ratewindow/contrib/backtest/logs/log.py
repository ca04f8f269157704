"""`open_logs` reads one or several files for a backtest, plain or packed by gzip: a `Log` is their requests in order of time."""

import gzip
import heapq
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from io import BufferedReader
from itertools import chain, islice
from math import inf
from operator import attrgetter
from pathlib import Path
from time import monotonic
from typing import IO, Any, NamedTuple

from ratewindow.contrib.backtest.logs.entry import Entry, LogError, Unreadable
from ratewindow.contrib.backtest.logs.formats import Format, guessed, named
from ratewindow.limiter.problem import Problem

MOST_BYTES = 64 * 1024  # of one line; a longer one is not held
SHOWN = 3
_GUESSED_BY = 200  # lines
_TEXT = 100  # characters of a line that are shown
STANDARD_INPUT = "-"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # what programs on Windows begin a text with
_GZIP = b"\x1f\x8b"


class LogFile:
    """One file of a log, with its format: a path, ``-`` for standard input, or a file that is open already. Its `lines` are read
    once. Making one and reading it raise LogError."""

    def __init__(self, source: str | Path | IO[bytes], given: Format | None, most_bytes: float) -> None:
        self._most_bytes = most_bytes  # of it unpacked
        self._source = sys.stdin.buffer if source == STANDARD_INPUT else source
        self.name = str(source if isinstance(source, str | Path) else getattr(source, "name", None) or "the log")
        lines = self._read()
        first = [*islice(lines, _GUESSED_BY)]
        known = [line for line in first if line.strip()]
        self.format = given or guessed(known)
        if known and self.format is None:
            raise LogError(
                "The format of {name} is not one of those known. Name it, or write nginx's log_format. Its first "
                "lines:\n{examples}",
                name=self.name,
                examples="\n".join(f"  {line[:_TEXT]!r}" for line in known[:SHOWN]),
            )
        self.lines = chain(first, lines)

    def _read(self) -> Iterator[str]:
        try:
            with Path(self._source).open("rb") if isinstance(self._source, str | Path) else nullcontext(self._source) as file:
                for line in self._bounded(self._unpacked(file)):
                    yield line.decode("utf-8", "surrogateescape").rstrip("\r\n")
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise LogError(
                "{name} is cut off or damaged: {error}. Copy it again, or unpack what is there and read that.",
                name=self.name,
                error=error,
            ) from None
        except OSError as error:
            raise LogError("{name} cannot be read: {error}", name=self.name, error=error.strerror or error) from None

    def _unpacked(self, file: IO[bytes]) -> Any:
        buffered: Any = file if hasattr(file, "peek") else BufferedReader(file)
        return gzip.GzipFile(fileobj=buffered) if buffered.peek(2).startswith(_GZIP) else buffered

    def _bounded(self, file: IO[bytes]) -> Iterator[bytes]:
        """Lines as bytes, as many as there may be; of a line that is too long its beginning."""
        taken, is_rest = 0, False
        while line := file.readline(MOST_BYTES):
            line = line if taken else line.removeprefix(_BYTE_ORDER_MARK)
            taken += len(line)
            if taken > self._most_bytes:
                raise LogError(
                    "{name} is larger than {most} MB once it is unpacked. Cut it, or use manage.py ratewindow backtest.",
                    name=self.name,
                    most=round(self._most_bytes / 1_000_000),
                )
            if not is_rest:
                yield line
            is_rest = not line.endswith(b"\n")


AT_S = attrgetter("at_s")
NEAR = 4096  # requests that may change places: a server writes a line when a request ends
MOST_UNREADABLE = 0.1  # of all lines
MOST_LATE = 0.01  # of all requests
LOOK_EVERY = 1000  # lines between two looks at the clock
_FIRST_JUDGED = 10_000  # lines, before the share of unreadable ones says anything


class Most(NamedTuple):
    """How much of a log is read: its first requests, and as many as are decided in this time. A larger file is an error."""

    requests: float = inf
    seconds: float = inf
    file_bytes: float = inf  # unpacked


EVERYTHING = Most()


class Log:
    """Requests, in the order of time, once: the files are read as the requests are taken."""

    def __init__(self, sources: Iterable[str | Path | IO[bytes]], given: Format | None = None, most: Most = EVERYTHING) -> None:
        self._most_requests, self._until_s = most.requests, monotonic() + most.seconds
        self._files = [LogFile(source, given, most.file_bytes) for source in sources]
        self.read = self.unreadable = self._skipped = 0  # lines; those skipped are about something other than a request
        self.out_of_order = 0  # requests that came after later ones
        self.is_cut = False  # there is more than was to be read
        self.examples: list[Problem] = []  # of unreadable lines, the first ones

    @property
    def format(self) -> str:
        """Its name, or the names of several."""
        return ", ".join(dict.fromkeys(file.format.name for file in self._files if file.format))

    @property
    def is_unordered(self) -> bool:
        """Whether so many requests came after later ones that nothing can be said of what limits would have done."""
        return self.out_of_order > MOST_LATE * self.read

    def __iter__(self) -> Iterator[Entry]:
        """Raises LogError."""
        latest = -inf
        for entry in heapq.merge(*map(self._sorted, self._files), key=AT_S):
            self.out_of_order += entry.at_s < latest
            latest = max(latest, entry.at_s)
            yield entry
        self._judge()

    def _sorted(self, file: LogFile) -> Iterator[Entry]:
        """The requests of a file, sorted as far as those reach that are held."""
        held: list[Entry] = []
        near = max(1, NEAR // len(self._files))
        for entry in self._entries(file):
            held.append(entry)
            if len(held) >= 2 * near:
                held.sort(key=AT_S)
                yield from held[:-near]
                del held[:-near]
        held.sort(key=AT_S)
        yield from held

    def _entries(self, file: LogFile) -> Iterator[Entry]:
        read: Callable[[str], Entry | None] = file.format.read if file.format is not None else lambda line: None
        for number, line in enumerate(file.lines, 1):
            if not number % LOOK_EVERY and monotonic() >= self._until_s:
                self.is_cut = True
                return
            try:
                entry = read(line)
            except Unreadable as why:
                if line.strip():
                    self._note(
                        Problem("{file}, line {line}: {why}: {text!r}", file=file.name, line=number, why=why, text=line[:_TEXT])
                    )
                continue
            if entry is None:
                self._skipped += 1
            elif self.read >= self._most_requests:
                self.is_cut = True
                return
            else:
                self.read += 1
                yield entry

    def _note(self, example: Problem) -> None:
        self.unreadable += 1
        if len(self.examples) < SHOWN:
            self.examples.append(example)
        if self.read + self._skipped + self.unreadable >= _FIRST_JUDGED:
            self._judge()

    def _judge(self) -> None:
        """Raise LogError if too many lines cannot be read."""
        lines = self.read + self._skipped + self.unreadable
        if self.unreadable > lines * MOST_UNREADABLE and (self.unreadable >= SHOWN or not self.read):
            named = {f"example{place}": example for place, example in enumerate(self.examples)}
            placeholders = "\n".join(f"  {{{name}}}" for name in named)
            raise LogError(
                "{unreadable} of {lines} lines cannot be read in the format {format}, more than {most} %. Name the right "
                "format. The first ones:\n{examples}",
                unreadable=self.unreadable,
                lines=lines,
                format=self.format,
                most=round(MOST_UNREADABLE * 100),
                examples=Problem(placeholders, **named),  # itself without words
            )


def open_logs(sources: Iterable[str | Path | IO[bytes]], format: str | None = None, most: Most = EVERYTHING) -> Log:  # noqa: A002
    """The log of these files, ``-`` for standard input, in the format of a name or a string, or in what they seem to have.

    Raises LogError, also while it is read.
    """
    return Log(sources, named(format) if format else None, most)
