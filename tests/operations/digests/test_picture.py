"""Bars as a PNG, read again chunk by chunk."""

import struct
import zlib
from collections.abc import Sequence

from ratewindow.operations.digests.picture import PASSED, REFUSED, WOULD_REFUSE, Column, bars

BLUE, AMBER, RED, NOTHING = (95, 142, 166, 255), (185, 122, 16, 255), (209, 59, 59, 255), (0, 0, 0, 0)

Colour = tuple[int, int, int, int]


def painted(columns: Sequence[Column], width: int = 40, height: int = 100) -> list[list[Colour]]:
    """The lines of pixels, from the bottom to the top."""
    data, parts = bars(columns, width, height), dict[bytes, bytes]()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    rest = data[8:]
    while rest:
        (length,) = struct.unpack(">I", rest[:4])
        name, content, check = rest[4:8], rest[8 : 8 + length], rest[8 + length : 12 + length]
        assert check == struct.pack(">I", zlib.crc32(name + content))
        parts[name], rest = content, rest[12 + length :]
    wide, high, bits, by_palette, *_ = struct.unpack(">IIBBBBB", parts[b"IHDR"])
    assert (high, bits, by_palette) == (height, 8, 3)
    colours = [(*parts[b"PLTE"][3 * n : 3 * n + 3], opacity) for n, opacity in enumerate(parts[b"tRNS"])]
    pixels = zlib.decompress(parts[b"IDAT"])
    lines = [pixels[y * (wide + 1) : (y + 1) * (wide + 1)] for y in range(high)]
    assert {line[0] for line in lines} == {0} and len(pixels) == high * (wide + 1)
    return [[colours[each] for each in line[1:]] for line in reversed(lines)]  # type: ignore[misc]


def column(picture: list[list[Colour]], x: int) -> list[Colour]:
    return [line[x] for line in picture]


def test_a_column_is_as_high_as_its_counts_from_the_bottom_to_the_top() -> None:
    picture = painted([((PASSED, 50), (WOULD_REFUSE, 30), (REFUSED, 20)), ((PASSED, 50), (REFUSED, 0))])
    assert len(picture[0]) == 40
    assert column(picture, 0) == [BLUE] * 50 + [AMBER] * 30 + [RED] * 20
    assert column(picture, 20) == [BLUE] * 50 + [NOTHING] * 50


def test_what_is_not_0_is_seen_however_much_passed() -> None:
    picture = painted([((PASSED, 1_000_000), (REFUSED, 1)), ((PASSED, 0), (REFUSED, 1))])
    assert (column(picture, 0).count(BLUE), column(picture, 0).count(RED)) == (96, 4)
    assert column(picture, 20).count(RED) == 4


def test_nothing_is_a_line_on_no_background() -> None:
    picture = painted([((PASSED, 0), (REFUSED, 0))] * 4)
    assert {pixel for x in range(40) for pixel in column(picture, x)[1:]} == {NOTHING}
    assert column(picture, 0)[0] != NOTHING


def test_a_hundred_columns_fit_the_width() -> None:
    assert len(painted([((PASSED, 1),)] * 100, width=1200)[0]) == 1200
    assert len(painted([((PASSED, 1),)] * 96, width=1200)[0]) == 1152
