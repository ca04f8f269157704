"""The lines of a log, plain or packed, in batches, whatever its bytes are."""

import gzip
import importlib
import sys
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from math import inf
from pathlib import Path
from time import monotonic
from typing import IO, Any, Final, cast

from ratewindow.operations.logs.entry import LogError

MOST_BYTES = 64 * 1024  # of one line; a longer one is not held
TOO_LONG: Final = None
STANDARD_INPUT = "-"
_CHUNK = 256 * 1024
_FIRST_CHUNKS = 64  # in which a line is looked for
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # what programs on Windows begin a text with
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ZSTD_MODULES = ("compression.zstd", "backports.zstd")  # of Python 3.14, and for those before


class OutOfTime(LogError):
    """The time in which a log is to be read is over."""


class LogFile:
    """One file of a log: a path, ``-`` for standard input, or a file that is open already."""

    def __init__(self, source: str | Path | IO[bytes], most_bytes: int | None = None, until_s: float = inf) -> None:
        self._most_bytes = most_bytes  # of it unpacked
        self._until_s = until_s  # of `monotonic`
        self.done_bytes = self.size = 0  # as the file is, packed or not; the size is 0 where nobody knows it
        self._path: Path | None = None
        self._open: IO[bytes] | None = None
        self._begun: Iterator[bytes] | None = None
        if not isinstance(source, str | Path):
            self._open, self.name = source, str(getattr(source, "name", None) or "the log")
        elif str(source) == STANDARD_INPUT:
            self._open, self.name = sys.stdin.buffer, "standard input"
        else:
            self._path, self.name = Path(source), str(source)

    @property
    def is_read_once(self) -> bool:
        """Whether it cannot be read again, as a pipe."""
        return self._open is not None and not self._open.seekable()

    def is_late(self) -> bool:
        """Whether the time in which it is to be read is over."""
        return monotonic() >= self._until_s

    def check_time(self) -> None:
        """Raise OutOfTime, if it is late."""
        if self.is_late():
            raise OutOfTime("{name} takes too long to read. Use manage.py ratewindow backtest.", name=self.name)

    def first_lines(self) -> list[str | None]:
        """Those of the first bytes that have one which is not too long, without blank ones; they can be read again."""
        chunks, taken, found = self._chunks(), list[bytes](), list[str | None]()
        for batch in lines(_noted(islice(chunks, _FIRST_CHUNKS), taken)):
            found += [line for line in batch if line is TOO_LONG or line.strip()]
            if any(found):
                break
        if self._path is None:
            self._begun = chain(taken, chunks)
        return found

    def batches(self) -> Iterator[list[str | None]]:
        """All lines, those longer than `MOST_BYTES` as `TOO_LONG`."""
        begun, self._begun = self._begun, None
        return lines(begun or self._chunks())

    def _chunks(self) -> Iterator[bytes]:
        try:
            if self._path:
                with self._path.open("rb") as file:
                    self.size = self._path.stat().st_size
                    yield from self._unpacked(_Source(file, self))
            else:
                yield from self._unpacked(_Source(self._again(), self))
        except OSError as error:
            raise LogError("{name} cannot be read: {error}", name=self.name, error=error.strerror or error) from None

    def _again(self) -> IO[bytes]:
        assert self._open
        if self.done_bytes:
            if self.is_read_once:
                raise LogError("{name} can be read only once; name a file.", name=self.name)
            self._open.seek(0)
        return self._open

    def _unpacked(self, source: "_Source") -> Iterator[bytes]:
        magic = source.peek(4)
        unpacked: Any = source
        broken: tuple[type[Exception], ...] = (EOFError,)
        if magic.startswith(_GZIP):
            unpacked, broken = gzip.GzipFile(mode="rb", fileobj=cast(Any, source)), (EOFError, zlib.error, gzip.BadGzipFile)
        elif magic == _ZSTD:
            zstd = self._zstd()
            unpacked, broken = zstd.ZstdFile(source), (EOFError, zstd.ZstdError)
        unpacked_bytes = 0
        try:
            while chunk := unpacked.read1(_CHUNK):
                if not unpacked_bytes:
                    chunk = chunk.removeprefix(_BYTE_ORDER_MARK)
                unpacked_bytes += len(chunk)
                if self._most_bytes is not None and unpacked_bytes > self._most_bytes:
                    raise LogError(
                        "{name} is larger than {most} MB once it is unpacked. Cut it, or use manage.py ratewindow backtest.",
                        name=self.name,
                        most=self._most_bytes // 1_000_000,
                    )
                yield chunk
        except broken as error:
            raise LogError(
                "{name} is cut off or damaged: {error}. Copy it again, or unpack what is there and read that.",
                name=self.name,
                error=error,
            ) from None

    def _zstd(self) -> Any:
        for name in _ZSTD_MODULES:
            try:
                return importlib.import_module(name)
            except ImportError:
                continue
        raise LogError(
            "{name} is packed by zstd, which Python reads from 3.14 on. Install ratewindow[zstd], or unpack the file first: "
            "zstd -d {name}",
            name=self.name,
        )


class _Source:
    """The bytes of a file, counted, the first of which can be looked at."""

    def __init__(self, file: IO[bytes], counts: LogFile) -> None:
        self._file, self._counts = file, counts
        self._counts.done_bytes = 0
        self._looked = b""
        self._read = getattr(file, "read1", file.read)  # what a pipe has, at once

    def peek(self, size: int) -> bytes:
        while len(self._looked) < size and (more := self._read(size - len(self._looked))):
            self._looked += more
        return self._looked

    def read(self, size: int) -> bytes:
        self._counts.check_time()  # also within a packed file of parts that have nothing in them
        data, self._looked = self._looked[:size], self._looked[size:]
        if len(data) < size:
            data += self._read(size - len(data))
        self._counts.done_bytes += len(data)
        return data

    read1 = read


def _noted(chunks: Iterable[bytes], taken: list[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        taken.append(chunk)
        yield chunk


def lines(chunks: Iterable[bytes]) -> Iterator[list[str | None]]:
    """A batch of lines for each chunk that ends one; bytes that are no UTF-8 are kept."""
    rest = b""
    dropping = False  # in the middle of a line that is too long
    for chunk in chunks:
        if dropping:
            end = chunk.find(b"\n")
            if end < 0:
                continue
            chunk, dropping = chunk[end + 1 :], False
        block = rest + chunk
        end = block.rfind(b"\n")
        rest = block[end + 1 :]
        batch: list[str | None] = _decoded(block[: end + 1])[:-1] if end >= 0 else []
        if len(rest) > MOST_BYTES:
            batch.append(TOO_LONG)
            rest, dropping = b"", True
        if batch:
            yield batch
    if rest:
        yield _decoded(rest)


def _decoded(block: bytes) -> list[str | None]:
    found = block.decode("utf-8", "surrogateescape").replace("\r\n", "\n").split("\n")
    return [line if len(line) <= MOST_BYTES else TOO_LONG for line in found]
