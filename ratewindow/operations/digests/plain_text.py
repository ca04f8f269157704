"""A digest as plain text: all that the HTML says, the picture as a line of bars."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise

from django.utils.translation import gettext

from ratewindow.operations.digests.content import Digest
from ratewindow.operations.digests.spans import DAILY

_BARS = "▁▂▃▄▅▆▇█"
WIDTH = 76


def plain_text(digest: Digest, about: Sequence[str]) -> str:
    return "\n".join(_lines(digest, about)) + "\n"


def _lines(digest: Digest, about: Sequence[str]) -> Iterator[str]:
    yield digest.title
    yield ""
    yield _folded(digest.summary)
    if digest.url:
        yield ""
        yield gettext("The report: %s") % digest.url
    yield ""
    for figure in digest.figures:
        value = f"{figure.value} ({figure.note})"
        yield f"{figure.label}: {value}" + (f", {figure.change}" if figure.change else "")
    yield from _drawn(digest)
    if digest.hints:
        yield from _headed(gettext("What to do"))
        for hint in digest.hints:
            yield _folded(hint.text, "* ")
            if hint.url and hint.rule:
                yield f"  {hint.url}"
    if digest.who:
        yield from _headed(gettext("Who is refused"))
        yield _folded(digest.who)
        for line in digest.clients:
            yield f"* {line.name}" + (f" ({line.note})" if line.note else "") + f": {line.text}"
    if digest.rules:
        yield from _headed(gettext("Rules"))
        for line in digest.rules:
            yield f"* {line.name}: {line.text}" + (f", {line.note}" if line.note else "")
            if line.url:
                yield f"  {line.url}"
    if about:
        yield from ("", "--")
        yield from map(_folded, about)


def _headed(heading: str) -> Iterator[str]:
    yield from ("", heading, "-" * len(heading))


def _folded(text: str, begin: str = "") -> str:
    """No address and no name is broken in two."""
    return textwrap.fill(
        text, WIDTH, initial_indent=begin, subsequent_indent=" " * len(begin), break_long_words=False, break_on_hyphens=False
    )


def _drawn(digest: Digest) -> Iterator[str]:
    """A bar for each hour of a day, or for each six hours of a week."""
    chart = digest.chart
    parts = min(len(chart["passed"]), 24 if digest.span.kind == DAILY else 28)
    lines = (
        (gettext("Passed"), chart["passed"]),
        (gettext("Refused"), chart["refused"]),
        (gettext("Would refuse"), chart["would_refuse"]),
    )
    shown = [(label, _summed(counts, parts)) for label, counts in lines if any(counts)]
    if not shown:
        return
    yield ""
    yield gettext("Over time, each line by its own highest:")
    for label, counts in shown:
        yield f"{_bars(counts)} {label}"


def _summed(counts: Sequence[int], parts: int) -> list[int]:
    edges = [len(counts) * part // parts for part in range(parts + 1)]
    return [sum(counts[start:end]) for start, end in pairwise(edges)]


def _bars(counts: Sequence[int]) -> str:
    most = max(counts)
    return "".join("·" if not count else _BARS[max(0, -(-len(_BARS) * count // most) - 1)] for count in counts)
