"""Deciding the requests of a log one after the other, as a site would that enforces: by the engine, in memory, at their times."""

import sys
from collections.abc import Collection, Sequence
from copy import copy
from typing import NamedTuple

from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.types import Check, Decision
from ratewindow.operations.backtest.as_request import Place
from ratewindow.operations.backtest.asking import Stage
from ratewindow.operations.backtest.known import Known
from ratewindow.operations.backtest.sparse import Sparse
from ratewindow.request import admin_pages, charge_later, count_by_answer, decide
from ratewindow.request.visit import Visit

FIRST_SWEEP = 20_000  # states


class Judged(NamedTuple):
    """What became of a request: one decision for each rule that it met, and whether it was refused."""

    parts: Collection[Decision]
    refused: bool


class Course:
    """The requests of a log at one of their times each, with a store of their own."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._store = MemoryStore(sys.maxsize)
        self._sparse = Sparse(self._store)
        self._sweep_at = FIRST_SWEEP

    def __len__(self) -> int:
        return len(self._store) + len(self._sparse)

    def refuses(self, check: Check, now_ms: int) -> bool:
        """Whether one check refuses a request, or would in shadow: `judge` for a rule alone that counts every request."""
        return not self._sparse.admits(check, now_ms) and self._store.refuses(check, now_ms)

    def judge(self, stages: Sequence[Stage], request: Place, now_ms: int, status: int) -> Judged:
        """Decide a request that was answered with this status when it passed."""
        refused, visit = False, Visit()
        for check in [check for question, _ in stages for check in question.checks]:
            self._sparse.settle(check)
        for question, blocks in stages:
            if question.settled:
                question = question._replace(settled=[*map(copy, question.settled)])  # deciding changes them
            decision = decide.at_time(question, self._store, now_ms)
            if decision.allowed or not blocks:
                visit.add(decision, blocks)
            elif not (admin_pages.IN_PATHS in request.path_info and admin_pages.stays_open(request)):
                self._store.refund(visit.refuse(), now_ms)
                visit.add(decision)
                refused = True
                break
        if self._known.counts_by_answer:
            self._count_by_answer(visit.decision, status, now_ms)
        return Judged(visit.end(), refused)

    def _count_by_answer(self, decision: Decision, status: int, now_ms: int) -> None:
        due = count_by_answer.due(decision, status)
        if due.charges:
            self._store.run(charge_later.question_of(due.charges).checks, "charge", now_ms)
        self._store.refund(due.refunds, now_ms)

    def sweep(self, now_ms: int) -> None:
        """Forget what counts for nobody any more, once that may be half of the states: memory grows with those that count."""
        if len(self) < self._sweep_at:
            return
        self._store.forget(lambda key, state: self._known.is_over(key, state, now_ms))
        self._sparse.forget(now_ms)
        self._sweep_at = max(FIRST_SWEEP, 2 * len(self))
