"""A story as an SVG, legible in light and dark: above what came each second, below what had passed in the last minute."""

from xml.sax.saxutils import escape

from benchmarks.pictures.edge import LIMIT, PERIOD_S, SECONDS, Story

WIDTH, HEIGHT = 760, 268
LEFT, RIGHT = 44, 16
TOP, BARS = 34, 62  # the bars' place, and their height
LINE_TOP, LINE = 132, 104
MOST_A_SECOND, MOST_A_MINUTE = 20, 200

STYLE = """
  svg { font: 12px system-ui, sans-serif }
  .ground { fill: #ffffff } text { fill: #1f2933 } .axis { stroke: #9aa5b1 } .grid { stroke: #e4e7eb }
  .passed { fill: #1668b8 } .refused { fill: #c9ced6 }
  .minute { fill: none; stroke: #1668b8; stroke-width: 2 }
  .limit { stroke: #c2410c; stroke-width: 1.5; stroke-dasharray: 6 4 } .limit-text { fill: #c2410c }
  .strong { font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #14181d } text { fill: #d9dfe6 } .axis { stroke: #616e7c } .grid { stroke: #2b323a }
    .passed { fill: #63a8e8 } .refused { fill: #4a535e } .minute { stroke: #63a8e8 }
    .limit { stroke: #fb923c } .limit-text { fill: #fb923c }
  }
"""


def x_of(second: float) -> float:
    return LEFT + second * (WIDTH - LEFT - RIGHT) / SECONDS


def drawn(name: str, told: Story) -> str:
    """The whole file; the same story is the same text."""
    words = (
        f"{name} at a limit of {LIMIT} a minute: of a burst at the edge and what follows, at most {told.most} pass in any minute"
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
        f"<title>{escape(words)}</title><style>{STYLE}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{HEIGHT}" rx="6"/>',
        *_bars(told),
        *_minute(told),
        *_times(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _bars(told: Story) -> list[str]:
    width, bottom = (WIDTH - LEFT - RIGHT) / SECONDS - 0.6, TOP + BARS
    parts = [
        f'<text x="{LEFT}" y="20">requests in each second:</text>',
        f'<rect class="passed" x="{LEFT + 158}" y="10" width="11" height="11"/><text x="{LEFT + 174}" y="20">admitted</text>',
        f'<rect class="refused" x="{LEFT + 240}" y="10" width="11" height="11"/><text x="{LEFT + 256}" y="20">refused</text>',
        _label(MOST_A_SECOND, TOP),
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{bottom}" y2="{bottom}"/>',
    ]
    for second, (passed, refused) in enumerate(zip(told.admitted, told.refused, strict=True)):
        y = float(bottom)
        for kind, count in (("passed", passed), ("refused", refused)):
            height = count * BARS / MOST_A_SECOND
            y -= height
            if count:
                parts.append(
                    f'<rect class="{kind}" x="{x_of(second):.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"/>'
                )
    return parts


def _minute(told: Story) -> list[str]:
    def y_of(count: float) -> float:
        return LINE_TOP + LINE - count * LINE / MOST_A_MINUTE

    points = " ".join(f"{x_of(second + 1):.1f},{y_of(count):.1f}" for second, count in enumerate(told.last_minute))
    most = f'<tspan class="strong">at most {told.most}</tspan>'
    return [
        f'<text x="{LEFT}" y="{LINE_TOP - 10}">admitted in the last minute, {most}</text>',
        *[f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_of(n):.1f}" y2="{y_of(n):.1f}"/>' for n in (50, 150, 200)],
        *[_label(n, y_of(n)) for n in (0, LIMIT, MOST_A_MINUTE)],
        f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_of(0)}" y2="{y_of(0)}"/>',
        f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_of(LIMIT):.1f}" y2="{y_of(LIMIT):.1f}"/>',
        f'<text class="limit-text" x="{LEFT + 6}" y="{y_of(LIMIT) - 6:.1f}">limit</text>',
        f'<polyline class="minute" points="{points}"/>',
    ]


def _times() -> list[str]:
    bottom = LINE_TOP + LINE
    parts = []
    for second in range(0, SECONDS + 1, 30):
        x, edge = x_of(second), second % PERIOD_S == 0
        kind, end = ("axis", bottom + 8) if edge else ("grid", bottom + 5)
        parts.append(f'<line class="{kind}" x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{end}"/>')
        anchor = "end" if second == SECONDS else "middle"
        parts.append(f'<text x="{x:.1f}" y="{bottom + 22}" text-anchor="{anchor}">{second // 60}:{second % 60:02}</text>')
    return parts


def _label(number: int, y: float) -> str:
    return f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{number}</text>'
