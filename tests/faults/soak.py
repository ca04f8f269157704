"""Mixed traffic on two servers for a while, with something bad every few seconds, and what was seen of it."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from tests.faults.ground import HAPPENINGS, Ground
from tests.faults.traffic import Sample, Traffic, breakers
from tests.serving.servers import Served

LIMIT, PERIOD_S = 10, 2.0  # of each rule that is watched
LIMITED = ("/soaked/", "/asoaked/", "/guarded/")
PATHS = (*LIMITED, "/many/", "/amany/")
CLIENTS = 2  # few, so that each asks for more than it may have
QUIET = 20  # answers in a row without anything special: normal again


@dataclass
class Round:
    """Something that happened, until all was normal again."""

    name: str
    began_s: float
    healed_s: float
    back_s: float = 0.0

    @property
    def recovery_s(self) -> float:
        return self.back_s - self.healed_s


@dataclass
class Soaked:
    """What a run has seen."""

    began_s: float
    samples: list[Sample] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    connections: list[int] = field(default_factory=list)  # at the end of each round
    resident_kb: dict[tuple[str, int], list[int]] = field(default_factory=dict)  # of each worker, at the same moments

    @property
    def errors(self) -> list[Sample]:
        """Answers that nobody should ever get: a 503 is what the rule of /guarded/ says while Redis is unavailable."""
        return [each for each in self.samples if each.status >= 500 and not (each.status == 503 and _is_of_store(each))]

    @property
    def unanswered(self) -> list[Sample]:
        """Requests that got no answer, although no worker was killed while they waited."""
        kills = [(each.began_s, each.back_s) for each in self.rounds if "worker killed" in each.name]
        return [each for each in self.samples if each.status == 0 and not _is_within(each, kills)]

    @property
    def strays(self) -> list[Sample]:
        """Decided without Redis while nothing was wrong with it."""
        return [
            each for each in self.samples if each.cause and not _is_within(each, [(a.began_s, a.back_s) for a in self.rounds])
        ]

    def quiet(self) -> Iterator[tuple[float, float]]:
        """From when to when nothing happened."""
        from_s = self.began_s
        for each in self.rounds:
            yield from_s, each.began_s
            from_s = each.back_s
        yield from_s, max((each.answered_s for each in self.samples), default=from_s)

    def most_admitted(self) -> tuple[int, int]:
        """The most that any client was certainly admitted within a period in which nothing happened; of how many windows."""
        most = windows = 0
        hiccups = {(each.path, each.client): each.answered_s for each in self.strays}  # of the machine: one more may pass
        for from_s, to_s in self.quiet():
            counted: dict[tuple[str, str], list[Sample]] = {}
            for each in self.samples:
                whose = (each.path, each.client)
                is_counted = each.path in LIMITED and each.status == 200 and not each.cause
                is_spoilt = from_s <= hiccups.get(whose, -1.0) <= to_s
                if is_counted and from_s <= each.sent_s and each.answered_s <= to_s and not is_spoilt:
                    counted.setdefault(whose, []).append(each)
            for admitted in counted.values():
                for sent_s in sorted(each.sent_s for each in admitted):
                    if sent_s + PERIOD_S <= to_s:
                        windows += 1
                        inside = (sent_s <= each.sent_s and each.answered_s < sent_s + PERIOD_S for each in admitted)
                        most = max(most, sum(inside))
        return most, windows


def _is_of_store(sample: Sample) -> bool:
    return sample.path == "/guarded/" and sample.cause.startswith("store:")


def _is_within(sample: Sample, times: Sequence[tuple[float, float]]) -> bool:
    return any(began_s <= sample.answered_s and sample.sent_s <= back_s for began_s, back_s in times)


def _is_special(sample: Sample) -> bool:
    return bool(sample.cause) or sample.status not in (200, 429)


def soak(site: Ground, seconds: float, every_s: float, hold_s: tuple[float, float]) -> Soaked:
    """Let something happen each `every_s`, which lasts for a time within `hold_s`, until the time is over."""
    told = Soaked(began_s=time.monotonic())
    with ExitStack() as stack:
        traffics = [stack.enter_context(Traffic(each, PATHS, clients=CLIENTS)) for each in site.served]
        for each in traffics:
            each.wait_for(100)
        told.began_s = time.monotonic()
        _look(site, told)
        for number, name in enumerate(_order(site), 1):
            told.rounds.append(_let_happen(site, name, traffics, site.chance.uniform(*hold_s)))
            _pause(told.began_s + number * every_s - time.monotonic(), at_least_s=PERIOD_S + 0.5)
            _look(site, told)
            if number * every_s >= seconds:
                break
    told.samples = sorted(sample for each in traffics for sample in each.samples)
    return told


def _order(site: Ground) -> Iterator[str]:
    """Everything once, in an order that the seed decides; and again."""
    while True:
        yield from site.chance.sample(list(HAPPENINGS), len(HAPPENINGS))


def _let_happen(site: Ground, name: str, traffics: list[Traffic], hold_s: float) -> Round:
    began_s = time.monotonic()
    with HAPPENINGS[name](site):
        _pause(hold_s)
    healed_s = time.monotonic()
    for traffic, served in zip(traffics, site.served, strict=True):
        traffic.until(partial(_has_come_back, served), f"{name}: not every worker has come back")
        traffic.until(partial(_is_as_before, traffic), f"{name}: it is not as before")
    special = [sample.sent_s for traffic in traffics for sample in traffic.since(began_s) if _is_special(sample)]
    return Round(name, began_s, healed_s, max([healed_s, *special]))


def _has_come_back(served: Served) -> bool:
    return breakers(served) == {"closed"}


def _is_as_before(traffic: Traffic) -> bool:
    return not any(map(_is_special, traffic.samples[-QUIET:]))


def _pause(seconds: float, at_least_s: float = 0.0) -> None:
    threading.Event().wait(max(seconds, at_least_s))


def _look(site: Ground, told: Soaked) -> None:
    """What the workers and the server hold just now."""
    with site.server.client() as client:
        told.connections.append(len(client.client_list()) - 1)  # without ours
    for served in site.served:
        for worker, answer in served.workers().items():
            told.resident_kb.setdefault((served.kind, worker), []).append(int(answer.json()["rss_kb"]))
