"""What is exported to Prometheus: names, what each means, and its values now. No label has an identity.

The names of counts are those of Envoy's rate limit service, where it has the same: total_hits, within_limit, over_limit,
near_limit and shadow_mode.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import sub
from typing import Literal

from ratewindow import conf
from ratewindow.conf.translation import in_english
from ratewindow.health import overview
from ratewindow.limiter.redis.thread_deadline import limited
from ratewindow.reporting import counters, latency, totals
from ratewindow.reporting.totals import Totals
from ratewindow.rulebook import kill_switch, reading
from ratewindow.store import process_clients

Labels = tuple[tuple[str, str], ...]
READ_S = 1.0  # within which the totals are read: a scrape is no request of the site


@dataclass(frozen=True)
class Family:
    """A metric: its samples by their labels. Those of a histogram count decisions by the upper bound in seconds."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    about: str
    samples: Sequence[tuple[Labels, int]]


COUNTS: Mapping[str, str] = {
    "hits": "Requests that met the rule: those within, over, in shadow and refused by another rule.",
    "within_limit": "Requests that passed, and would have passed if the rule were enforced.",
    "over_limit": "Requests that the rule refused.",
    "shadow_mode": "Requests that passed and would have been refused if the rule were enforced.",
    "other_rule": "Requests that met the rule and were refused by another one.",
    "near_limit": "Requests that passed, with over 80 % of a limit used.",
    "fallback": "Requests that were decided without Redis.",
}


def families() -> list[Family]:
    """The states, and the totals unless they cannot be read: then they are left out, since they must not fall."""
    with in_english():
        store, processes = overview.look(at_server=False)
    found = _totals() if store["reachable"] else None
    return [*_states(processes, found is not None), *(of_totals(found) if found is not None else ())]


def of_totals(found: Totals) -> list[Family]:
    rules = sorted(set().union(*found.numbers.values()))
    labels = [(("rule", rule),) for rule in rules]
    counts = _counts({name: [by_rule.get(rule, 0) for rule in rules] for name, by_rule in found.numbers.items()})
    reasons = [((("rule", rule), ("reason", reason)), count) for (rule, reason), count in sorted(found.reasons.items())]
    spans = [((("le", f"{float(bound) / 1000:g}"),), found.latency.get(bound, 0)) for bound in latency.BOUNDS]
    return [
        *(
            Family(f"ratewindow_{name}", "counter", about, list(zip(labels, counts[name], strict=True)))
            for name, about in COUNTS.items()
        ),
        Family("ratewindow_reasons", "counter", "Why the rule refused, or was decided without Redis.", reasons),
        Family("ratewindow_decision_seconds", "histogram", "How long the decisions took that asked Redis.", spans),
    ]


def _counts(numbers: Mapping[str, Sequence[int]]) -> dict[str, Sequence[int]]:
    """Those of `COUNTS`, each with one number for each rule, by the numbers of `Sums`."""
    passed, refused, other, would_refuse = (numbers[name] for name in ("passed", "refused", "other", "would_refuse"))
    return {
        "hits": list(map(sum, zip(passed, refused, other, strict=True))),
        "within_limit": list(map(sub, passed, would_refuse)),
        "over_limit": refused,
        "shadow_mode": would_refuse,
        "other_rule": other,
        "near_limit": numbers["near"],
        "fallback": numbers["fallback"],
    }


def _totals() -> Totals | None:
    if process_clients.in_memory():
        return totals.of_process(counters.since_start())
    try:
        with limited(READ_S):
            return totals.read(process_clients.patient_client())
    except Exception:  # whichever of server, address or name server it is: `up` says it
        return None


def _states(processes: Sequence[overview.Process], is_up: bool) -> list[Family]:
    states = [_STATES.get(str(each["breaker"]), "silent") for each in processes]
    limits_on = conf.current().enabled and not kill_switch.off
    about = "Processes of the site: those that count on Redis, those without it, and silent ones."
    return [
        _gauge("up", "Whether Redis answered this scrape.", int(is_up)),
        _gauge("enabled", "Whether limits are on: 0 while they are switched off.", int(limits_on)),
        _gauge("rules", "Rules that the scraped process holds.", reading.status().rules),
        Family(
            "ratewindow_processes",
            "gauge",
            about,
            [((("state", state),), states.count(state)) for state in ("counting", "without_redis", "silent")],
        ),
    ]


_STATES = {"closed": "counting", "open": "without_redis"}


def _gauge(name: str, about: str, value: int) -> Family:
    return Family(f"ratewindow_{name}", "gauge", about, [((), value)])
