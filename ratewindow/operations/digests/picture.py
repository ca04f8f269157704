"""Bars as a PNG, without a library: rectangles in five colours, on any background.

Words stand beside the picture as text, so that they are sharp, translated and read aloud.
"""

import struct
import zlib
from collections.abc import Sequence

# Of each: red, green, blue, opacity. Over 3:1 on white and on black.
_NONE, _LINE, PASSED, WOULD_REFUSE, REFUSED = range(5)
_COLOURS = ((0, 0, 0, 0), (128, 128, 128, 96), (95, 142, 166, 255), (185, 122, 16, 255), (209, 59, 59, 255))
_LEAST = 4  # pixels of what is not 0

Column = Sequence[tuple[int, int]]  # colour and count, from the bottom to the top


def bars(columns: Sequence[Column], width: int, height: int) -> bytes:
    """At most `width` pixels wide. The highest column is as high as the picture."""
    whole = max(1, width // max(1, len(columns)))
    gap = whole // 4
    most = max((sum(count for _, count in column) for column in columns), default=0) or 1
    painted = [_painted(column, most, height) for column in columns]
    lines = []
    for y in reversed(range(height)):
        between = _LINE if y == 0 else _NONE
        lines.append(b"\0" + b"".join(bytes([colours[y]]) * (whole - gap) + bytes([between]) * gap for colours in painted))
    return _png(whole * len(columns), height, b"".join(lines))


def _painted(column: Column, most: int, height: int) -> bytes:
    """The colour of each pixel, from the bottom to the top."""
    parts = [(colour, max(_LEAST, round(height * count / most)) if count else 0) for colour, count in column]
    over = sum(pixels for _, pixels in parts) - height
    found = b""
    for colour, pixels in parts:
        cut = min(max(0, over), max(0, pixels - _LEAST))  # what is not 0 stays visible
        over -= cut
        found += bytes([colour]) * (pixels - cut)
    return (found or bytes([_LINE])).ljust(height, bytes([_NONE]))[:height]


def _png(width: int, height: int, lines: bytes) -> bytes:
    colours = bytes(value for colour in _COLOURS for value in colour[:3])
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),  # 8 bits a pixel, by number of colour
        (b"PLTE", colours),
        (b"tRNS", bytes(colour[3] for colour in _COLOURS)),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in parts
    )
