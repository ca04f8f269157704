"""Limits that were found in code as the values of shadow rules: where each applies, and under which name."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Any

from ratewindow.identity import canonical
from ratewindow.limiter.rates import parse_rates
from ratewindow.operations.documents.values import Values
from ratewindow.rules.rule import BLOCKS
from ratewindow.rules.site_routes import Route, routes

_LONGEST = 64  # characters of a name


@dataclass(frozen=True)
class Limit:
    """One limit in code. `name` is what code calls it, `where` the routes that share its count."""

    name: str
    rate: str
    key: str
    where: tuple[Route, ...] = ()
    place: tuple[str, str] | None = None  # `applies_to` and `pattern`, of a limit that is not by route
    fields: Values = field(default_factory=dict)  # more fields of the rule
    windows: Values = field(default_factory=dict)  # and of its limits
    notes: tuple[str, ...] = ()  # what the rule does otherwise


@dataclass
class Found:
    """What a package limits, and sentences about what no rule can do."""

    limits: list[Limit] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def leave_out(self, place: str, why: str) -> None:
        if (sentence := f"{place}: {why}") not in self.left_out:
            self.left_out.append(sentence)


@dataclass(frozen=True)
class Translated:
    rules: list[Values]
    notes: list[tuple[str, str]]  # the rule, and what it does otherwise
    left_out: list[str]


def translated(found: Found) -> Translated:
    """The rules, each in shadow."""
    rules, notes, left_out = dict[str, Values](), list[tuple[str, str]](), list(found.left_out)
    for limit in found.limits:
        places = [limit.place] if limit.place else list(_places(limit.where))
        if not places:
            left_out.append(f"{limit.name}: no rule can say where it applies: give its URL a name that no other URL has.")
            continue
        for place in places:
            name = _name(limit.name if len(places) == 1 else f"{limit.name}.{place[1]}", rules)
            rules[name] = _rule(name, limit, place)
            notes += [(name, note) for note in limit.notes]
            if len(places) > 1:
                notes.append((name, f"{limit.name} counts {len(places)} places together, and this rule counts its own alone."))
    return Translated([rules[name] for name in sorted(rules)], notes, left_out)


def _rule(name: str, limit: Limit, place: tuple[str, str]) -> Values:
    applies_to, pattern = place
    limits = [
        {"limit": window.limit, "period": f"{window.period_ms}ms", "algorithm": window.algorithm, **limit.windows}
        for window in parse_rates(limit.rate)
    ]
    where = {"applies_to": applies_to, **({"pattern": pattern} if pattern else {})}
    return {"name": name, "mode": "shadow", **where, "key": limit.key, **limit.fields, "limits": limits}


def _places(where: Sequence[Route]) -> Iterator[tuple[str, str]]:
    """One place that has exactly these routes; or one for each of them; none if a route cannot be named."""
    together = list(dict.fromkeys(where))
    if len(together) > 1 and (place := _shared_place(together)):
        yield place
        return
    alone = [_own_place(route, together) for route in together]
    if all(alone):
        yield from dict.fromkeys(place for place in alone if place)


def _own_place(route: Route, together: Sequence[Route]) -> tuple[str, str] | None:
    if route.name and all(each in together for each in routes() if each.name == route.name):
        return "route", route.name
    return ("path", route.path) if route.is_whole and len(route.ends) == 1 else None


def _shared_place(together: Sequence[Route]) -> tuple[str, str] | None:
    """A name, a namespace, or a beginning of paths that these routes have and no other one."""
    first = together[0].name
    if first and all(route.name == first for route in together):
        return _own_place(together[0], together)
    space = _shared([route.name.split(":")[:-1] for route in together])
    if space and all(each in together for each in routes() if each.name.split(":")[: len(space)] == space):
        return "route", ":".join(space)
    if any(len(route.ends) > 1 for route in together):  # each language has a path of its own
        return None
    beginning = "".join(_shared([[*route.path.partition("<")[0]] for route in together])).rpartition("/")[0] + "/"
    is_own = beginning != "/" and all(each in together for each in routes() if each.path.startswith(beginning))
    return ("prefix", beginning) if is_own else None


def _shared(lists: Iterable[list[str]]) -> list[str]:
    """What all lists begin with."""
    alike = takewhile(lambda each: len(set(each)) == 1, zip(*lists, strict=False))
    return [each[0] for each in alike]


def _name(text: str, taken: Iterable[str]) -> str:
    """A name of a rule that is not taken, as near to the text as possible."""
    name = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("._-")[: _LONGEST - 4].rstrip("._-") or "rule"
    return next(each for number in count(1) if (each := name if number == 1 else f"{name}-{number}") not in (*taken, BLOCKS))


def rate_in(written: Any, read: Callable[[str], tuple[Any, Any]], *keys: Any) -> str:
    """The rate as a rule has it: ``5/60s; 20/3600s``. `read` returns limit and seconds of one limit, or raises ValueError, as
    this does if a limit names a key that is none of `keys`: all ways to write the one by which it counts."""
    rate = "; ".join(f"{int(limit)}/{int(period_s)}s" for limit, period_s in _pairs(written, read, keys))
    if not parse_rates(rate):
        raise ValueError(f"it has no rate that can be read: {written!r}.")
    return rate


def _pairs(written: Any, read: Callable[[str], tuple[Any, Any]], keys: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Limit and seconds of each limit, as other packages write several of them."""
    if isinstance(written, tuple | list) and len(written) == 2 and all(isinstance(each, int) for each in written):
        yield written[0], written[1]
    elif isinstance(written, tuple | list):
        for each in written:
            yield from _pairs(each, read, keys)
    elif isinstance(written, str):
        for limit, named in limits_in(written):
            if named and canonical(named) not in [canonical(key) for key in keys if isinstance(key, str)]:
                raise ValueError(
                    f"its rate {written!r} names the key {named!r}, by which it does not count: write the rate without it."
                )
            yield read(limit)
    else:
        raise ValueError(f"it has no rate that can be read: {written!r}.")


def limits_in(text: str) -> list[tuple[str, str]]:
    """Each limit, and the key that it names: ``("5/m", "")`` and ``("20/h", "ip")`` of ``5 per m; 20/h/ip``."""
    spelt = [re.sub(r"\s*(/|\bper\b)\s*", "/", part.strip()) for part in re.split("[,;|]", text)]
    return [("/".join(words[:2]), "/".join(words[2:])) for words in (part.split("/") for part in spelt if part)]
