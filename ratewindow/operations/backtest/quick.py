"""The short way for nearly all backtests: one rule that counts by address. What is asked about a request depends on nothing but
whether the rule meets its method and path, and on the client, so both are remembered."""

from collections.abc import Sequence

from ratewindow import conf
from ratewindow.limiter.types import Check
from ratewindow.operations.backtest.asking import Stage
from ratewindow.operations.backtest.known import parts_of
from ratewindow.operations.logs.entry import Entry
from ratewindow.request.admin_pages import IN_PATHS
from ratewindow.rules.rule import Rule

BY_ADDRESS = frozenset(("ip", "global"))
MOST_REMEMBERED = 20_000  # clients, and methods with paths


def is_quick(rule: Rule) -> bool:
    """Whether the checks of a rule that holds by path can be remembered."""
    by_address = BY_ADDRESS.issuperset(parts_of(rule.key)) and not conf.current().trusted_proxies
    return by_address and rule.count_when is None


class Quick:
    """What was asked about requests before."""

    def __init__(self) -> None:
        self._met: dict[tuple[str, str], bool] = {}  # by method and path
        self._checks: dict[str, Check] = {}  # by client

    def knows(self, entry: Entry) -> tuple[bool, Check | None]:
        """Whether what is asked about a request is known, and what that is: None if the rule does not meet it."""
        met = self._met.get((entry.method, entry.target.partition("?")[0]))
        if met is None:
            return False, None
        check = self._checks.get(entry.client) if met else None
        return not met or check is not None, check

    def learn(self, entry: Entry, stages: Sequence[Stage]) -> None:
        """Remember what is asked about a request, unless that takes more than a check."""
        path = entry.target.partition("?")[0]
        if (
            len(stages) > 1
            or IN_PATHS in path
            or (stages and (len(stages[0].question.checks) != 1 or stages[0].question.settled))
        ):
            return
        for remembered in (self._met, self._checks):
            if len(remembered) >= MOST_REMEMBERED:
                remembered.clear()
        self._met[entry.method, path] = bool(stages)
        if stages:
            self._checks[entry.client] = stages[0].question.checks[0]
