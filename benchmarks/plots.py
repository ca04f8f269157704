"""Pictures of what was measured: SVG that looks the same in light and dark, and is the same for the same numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Each stands out from white and from black alike; nothing is painted behind.
INK = "#7a7f87"
GRID = "#7a7f8744"
OURS = "#2f81f7"
OTHERS = "#9a8f80"
COLORS = (OURS, "#e0662f", "#2da44e", "#b05fd6", "#c29a1b", "#d6458a", "#1ba3a8", INK)
MARKERS = "osD^vPX*"

_STYLE: Any = {
    "svg.hashsalt": "ratewindow",
    "svg.fonttype": "none",  # text stays text, in the reader's font
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "legend.frameon": False,
}


@dataclass(frozen=True)
class Picture:
    """A file of that name beside the page, and how it is drawn."""

    name: str
    alt: str
    draw: Callable[["Figure"], None]
    inches: tuple[float, float] = (8, 4.2)

    def markdown(self) -> str:
        return f"![{self.alt}]({self.name}.svg)\n"

    def write(self, folder: Path) -> None:
        import matplotlib as mpl
        from matplotlib.figure import Figure

        with mpl.rc_context(_STYLE):
            figure = Figure(figsize=self.inches, layout="constrained")
            layout: Any = figure.get_layout_engine()
            layout.set(w_pad=0.12, h_pad=0.06)  # a reader's font may be wider
            self.draw(figure)
            figure.savefig(folder / f"{self.name}.svg", metadata={"Date": None})


def curves(series: Mapping[str, tuple[Sequence[float], Sequence[float]]], x: str, y: str) -> Callable[["Figure"], None]:
    """Lines, from nothing upward."""

    def draw(figure: "Figure") -> None:
        axes = figure.subplots()
        for number, (name, (xs, ys)) in enumerate(series.items()):
            axes.plot(xs, ys, label=name, color=COLORS[number], marker=MARKERS[number], markersize=5, linewidth=1.6)
        axes.set_xscale("log")
        _only_measured(axes.xaxis, sorted({value for xs, _ in series.values() for value in xs}))
        axes.set_ylim(0, 1.08 * max(value for _, ys in series.values() for value in ys))
        axes.set(xlabel=x, ylabel=y)
        if len(series) > 1:
            figure.legend(loc="outside upper left", ncols=3)

    return draw


def bars(panels: Mapping[str, Mapping[str, float]], ours: Sequence[str]) -> Callable[["Figure"], None]:
    """A panel for each measure, a bar for each contestant: ours in their color, all with their numbers."""

    def draw(figure: "Figure") -> None:
        from matplotlib.patches import Patch

        all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for axes, (title, values) in zip(all_axes, panels.items(), strict=True):
            names = list(values)[::-1]
            colors = [OURS if name in ours else OTHERS for name in names]
            painted = axes.barh(names, [values[name] for name in names], color=colors)
            axes.bar_label(painted, [_short(values[name]) for name in names], padding=3, color=INK)
            axes.set_xlabel(title)
            axes.set_xticks([])
            axes.spines["bottom"].set_visible(False)
            axes.tick_params(axis="y", length=0)
            axes.margins(x=0.2)
            axes.grid(visible=False)
        patches = [Patch(color=OURS, label="ratewindow"), Patch(color=OTHERS, label="others")]
        figure.legend(handles=patches, loc="outside upper left", ncols=2)

    return draw


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.1f}"


def _only_measured(axis: Any, values: Sequence[float]) -> None:
    """Marks where something was measured, and nowhere else: 10, 1k, 1M."""
    texts = [f"{value:,.0f}".replace(",000,000", "M").replace(",000", "k") for value in values]
    axis.set_ticks(values, texts)
    axis.minorticks_off()
