"""Who stands behind a spell of refusals, a network or a client, and whether all others are refused, too."""

from collections.abc import Callable
from dataclasses import dataclass

from ratewindow.reporting.offenders import HowMany, Name, Offenders
from ratewindow.reporting.unusual import Spell

LEAST_PART = 4  # whoever has less than a quarter of all refusals is not behind them


@dataclass(frozen=True)
class Behind:
    """Counts are of the spell's outcome, and of requests that met its rule."""

    value: str  # as rows have it: an identity may be a hash; empty if nobody has a large part
    is_network: bool  # or an address of several clients
    clients: HowMany  # of the network or address; without one, all that were refused
    count: int
    total: int
    exact: bool  # False: `count` may be too small
    others_count: int
    others_met: int
    route: str = ""  # of the requests, that most of them had; empty if it is not known


def behind(spell: Spell, found: Offenders) -> Behind:
    """`found` is who the rule refused in the time of the spell."""
    network, client = (next(iter(sorted(names.most, key=_by(spell))), None) for names in (found.networks, found.clients))
    top = network if _count(network, spell) >= max(_count(client, spell), 1) else client
    route = next((each.value for each in sorted(found.routes.most, key=_by(spell)) if _count(each, spell)), "")
    total = getattr(found.total, spell.outcome)
    clients = getattr(found, spell.outcome)
    bound = max(getattr(names.bound, spell.outcome) for names in (found.networks, found.clients))
    if top is None or _count(top, spell) * LEAST_PART < total:
        return Behind("", False, clients, 0, total, bound == 0, 0, 0, route)
    count, is_network = _count(top, spell), top is network
    known = {each.value: each.met for each in (*found.busiest, *found.clients.most) if is_network and each.network == top.value}
    theirs = sum(known.values()) if is_network else top.met
    others_count = max(0, total - count)
    others_met = max(found.total.met - max(count, theirs), others_count)
    return Behind(top.value, is_network, top.clients, count, total, bound == 0, others_count, others_met, route)


def _by(spell: Spell) -> Callable[[Name], int]:
    return lambda name: -_count(name, spell)


def _count(name: Name | None, spell: Spell) -> int:
    return getattr(name, spell.outcome) if name else 0
