"""Rules as a site with many of them has: a few for everything, others for paths and prefixes, some for methods."""

from functools import cache

from django.http import HttpRequest

from ratewindow.limiter.rates import parse_rates
from ratewindow.rules.rule import Rule

MOST_EVERYWHERE = 5
_AREAS = "accounts api billing blog catalog checkout docs feeds forum help media orders reports search shop support".split()
_PAGES = "list detail edit export history login password preview print settings share status upload vote".split()


@cache
def rules(count: int) -> list[Rule]:
    windows = parse_rates("1000/m")
    made = []
    for number in range(count):
        methods = frozenset({"POST"}) if number % 3 == 1 else frozenset({"GET", "PUT"}) if number % 3 == 2 else frozenset()
        if number % 10 == 0 and number // 10 < MOST_EVERYWHERE:
            kind, pattern = "all", ""
        elif number % 2:
            kind, pattern = "path", _path(number)
        else:
            kind, pattern = "prefix", _path(number).rsplit("/", 2)[0] + "/"
        made.append(Rule(f"rule-{number}", windows, methods=methods, applies_to=kind, pattern=pattern))
    return made


@cache
def requests(count: int) -> list[HttpRequest]:
    """What is asked for: half of it paths that have a rule, the others unknown, some below a prefix."""
    step = max(1, count // 100)
    known = [_path(number) for number in range(min(1, count - 1), count, 2 * step)]
    return [_get(path) for each in known for path in (each, each.replace("/", "/v", 1) + "more/")]


def _get(path: str) -> HttpRequest:
    request = HttpRequest()
    request.method, request.path_info = "GET", path
    return request


def _path(number: int) -> str:
    area, page = _AREAS[number % len(_AREAS)], _PAGES[number // len(_AREAS) % len(_PAGES)]
    return f"/{area}/{number // 5}/{page}/" if number % 4 else f"/{area}/{page}/{number}/"
