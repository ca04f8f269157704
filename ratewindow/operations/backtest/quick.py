"""The short way for nearly all backtests: one rule, whose check alone decides. If it counts by address, and by method and path,
what is asked about a request depends on nothing else, so it is remembered."""

from collections.abc import Sequence

from ratewindow import conf
from ratewindow.limiter.types import Check
from ratewindow.operations.backtest.as_request import Place
from ratewindow.operations.backtest.asking import Stage
from ratewindow.operations.backtest.known import parts_of
from ratewindow.operations.logs.entry import Entry
from ratewindow.request.admin_pages import IN_PATHS
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule

BY_ADDRESS = frozenset(("ip", "global"))
BY_PLACE = frozenset(("method", "path"))
MOST_REMEMBERED = 20_000  # checks, and methods with paths


def is_quick(rule: Rule) -> bool:
    """Whether the checks of a rule can be remembered: each place where code names it may have a cost of its own."""
    is_known = (BY_ADDRESS | BY_PLACE).issuperset(parts_of(rule.key)) and not conf.current().trusted_proxies
    return is_known and rule.count_when is None and not code_rates.is_used(rule.name)


def only_check(stages: Sequence[Stage], request: Place) -> Check | None:
    """The check that decides a request by itself; None if it takes more than one."""
    if len(stages) != 1 or not stages[0].blocks or IN_PATHS in request.path_info:
        return None
    question = stages[0].question
    return question.checks[0] if len(question.checks) == 1 and not question.settled else None


class Quick:
    """What was asked about requests before."""

    def __init__(self, rule: Rule) -> None:
        self._by_place = not BY_PLACE.isdisjoint(parts_of(rule.key))
        self._met: dict[tuple[str, str], bool] = {}  # by method and path
        self._checks: dict[tuple[str, ...], Check] = {}  # by client, and where the key has them by method and path

    def knows(self, entry: Entry) -> tuple[bool, Check | None]:
        """Whether what is asked about a request is known, and what that is: None if the rule does not meet it."""
        place = entry.method, entry.target.partition("?")[0]
        met = self._met.get(place)
        if met is None:
            return False, None
        check = self._checks.get(self._asked(entry, place)) if met else None
        return not met or check is not None, check

    def learn(self, entry: Entry, check: Check | None) -> None:
        """Remember what is asked about a request."""
        for remembered in (self._met, self._checks):
            if len(remembered) >= MOST_REMEMBERED:
                remembered.clear()
        place = entry.method, entry.target.partition("?")[0]
        self._met[place] = check is not None
        if check is not None:
            self._checks[self._asked(entry, place)] = check

    def _asked(self, entry: Entry, place: tuple[str, str]) -> tuple[str, ...]:
        return (entry.client, *place) if self._by_place else (entry.client,)
