"""What is counted of requests to views of REST framework."""

from collections.abc import Iterable

import pytest

from ratewindow.limiter.types import Decision
from ratewindow.request import guard


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[list[tuple[str, str]]]:
    """Rule and outcome of all decisions that are counted for the report, a list for each request."""
    told: list[list[tuple[str, str]]] = []

    def record(decisions: Iterable[Decision], stats: bool, who: object, status: int = 0) -> None:
        told.append(sorted((each.rule, each.outcome) for each in decisions))

    monkeypatch.setattr(guard.counters, "record", record)
    return told
