"""Metrics as Prometheus reads them, and the view that serves them; prometheus_client is not needed for it.

Every process answers the same, since totals are read from Redis: it does not matter which one is scraped.
"""

from collections.abc import Iterator
from functools import lru_cache

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from ratewindow.health.metrics.families import Family, Labels, families

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


@require_safe
def view(request: HttpRequest) -> HttpResponse:
    """For the site's URLs: ``path("metrics/", ratewindow.health.metrics.view)``. Whoever reaches it reads the names of rules."""
    return HttpResponse(text(), content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})


def text() -> str:
    """All metrics in the text format."""
    return "".join(f"{line}\n" for family in families() for line in _lines(family))


def _lines(family: Family) -> Iterator[str]:
    name = f"{family.name}_total" if family.kind == "counter" else family.name
    yield f"# HELP {name} {family.about}"
    yield f"# TYPE {name} {family.kind}"
    if family.kind == "histogram":
        for bound, count in cumulated(family):
            yield f'{name}_bucket{{le="{bound}"}} {count}'
        yield f"{name}_sum {estimated_sum(family)}"
        yield f"{name}_count {count}"
        return
    yield from [f"{name}{_written(labels)} {value}" for labels, value in family.samples]


def cumulated(family: Family) -> list[tuple[str, int]]:
    """The buckets of a histogram: the last span also has what took longer."""
    bounds, total = list[tuple[str, int]](), 0
    for labels, count in family.samples:
        total += count
        bounds.append((labels[0][1], total))
    return [*bounds[:-1], ("+Inf", total)]


def estimated_sum(family: Family) -> float:
    """As if each decision had taken the middle of its span, which begins at 0.7 of its end."""
    return sum(0.85 * float(labels[0][1]) * count for labels, count in family.samples)


@lru_cache(maxsize=4096)
def _written(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join([f'{name}="{value.translate(_ESCAPED)}"' for name, value in labels]) + "}"
