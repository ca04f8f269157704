"""What a client asked for and was answered, in bounded memory: a sample for whoever looks at who is caught."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from ratewindow.reporting.heavy_hitters import HeavyHitters

MOST_PATHS, MOST_AGENTS, MOST_STATUSES = 5, 3, 10  # of a client
LONGEST = 200  # characters of a path or an agent

Name = TypeVar("Name", str, int)


@dataclass(frozen=True, slots=True)
class Sample:
    """Most frequent first, each with a count that is never too large."""

    paths: Mapping[str, int] = field(default_factory=dict)  # "POST /login/", without the query
    statuses: Mapping[int, int] = field(default_factory=dict)
    agents: Mapping[str, int] = field(default_factory=dict)


class Sampling:
    """The sample of one client while its requests come."""

    __slots__ = ("_agents", "_paths", "_statuses")

    def __init__(self) -> None:
        self._paths, self._agents = HeavyHitters(MOST_PATHS), HeavyHitters(MOST_AGENTS)
        self._statuses: dict[int, int] = {}

    def add(self, method: str, target: str, status: int, agent: str) -> None:
        self._paths.add(f"{method} {target.partition('?')[0]}"[:LONGEST])
        if agent:
            self._agents.add(agent[:LONGEST])
        if status and (status in self._statuses or len(self._statuses) < MOST_STATUSES):
            self._statuses[status] = self._statuses.get(status, 0) + 1

    def sample(self) -> Sample:
        return Sample(
            _most(self._paths.counts, MOST_PATHS), _most(self._statuses, MOST_STATUSES), _most(self._agents.counts, MOST_AGENTS)
        )


def _most(counts: Mapping[Name, int], most: int) -> dict[Name, int]:
    return dict(sorted(counts.items(), key=lambda item: -item[1])[:most])
