"""Times in pieces, as ``strftime`` writes them, for formats that have one of their own."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

from ratewindow.operations.logs.entry import LogError
from ratewindow.operations.logs.times import MONTHS, no_time, seconds

PIECES = {
    "Y": r"\d{4}",
    "m": r"\d{2}",
    "b": r"[A-Z][a-z]{2}",
    "d": r"\d{2}",
    "e": r"[ \d]\d",
    "H": r"\d{2}",
    "M": r"\d{2}",
    "S": r"\d{2}",
    "z": r"[+-]\d{2}:?\d{2}",
    "a": r"[A-Z][a-z]{2}",  # the day of the week, which nobody needs
    "fraction": r"\d+",
}
_NAMED = re.compile(r"%(.)")
_SHORT = {"%T": "%H:%M:%S", "%F": "%Y-%m-%d", "%R": "%H:%M", "%h": "%b"}


def pieces(text: str) -> Iterator[tuple[str, str]]:
    """The text between the pieces of ``%d/%b/%Y`` and the letter of each; "" before the first or after the last."""
    text = re.sub("%[TFRh]", lambda found: _SHORT[found[0]], text)
    end = 0
    for found in _NAMED.finditer(text):
        letter = found[1]
        if letter not in PIECES:
            raise LogError(
                "The time {text!r} has %{letter}, which is not read: use %d %b %Y %H:%M:%S %z.", text=text, letter=letter
            )
        yield text[end : found.start()], letter
        end = found.end()
    yield text[end:], ""


@lru_cache(maxsize=4096)  # the lines of a second are neighbours
def moment(letters: tuple[str, ...], texts: tuple[str, ...]) -> float:
    """Seconds since the epoch; without a zone it is UTC. Raises Unreadable."""
    at = dict(zip(letters, texts, strict=True))
    try:
        zone = UTC
        if offset := at.get("z"):
            zone = timezone((-1 if offset[0] == "-" else 1) * timedelta(hours=int(offset[1:3]), minutes=int(offset[-2:])))
        month = MONTHS[at["b"]] if "b" in at else int(at["m"])
        day = int(at["d"] if "d" in at else at["e"])
        second = min(int(at.get("S", "0")), 59)
        start = datetime(int(at["Y"]), month, day, int(at["H"]), int(at["M"]), second, tzinfo=zone)
        return seconds(start) + float(f"0.{at.get('fraction', '0')}")
    except (KeyError, ValueError, OverflowError):
        raise no_time(" ".join(texts)) from None
