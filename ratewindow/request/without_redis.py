"""Decisions without the store, while it is away or gives no answer: by each rule's `on_error`.

``allow`` lets the request pass uncounted, ``refuse`` answers 503, ``local`` counts in this process, which allows its
share of each limit, and keeps its counts for a period after the store is back: a store that fails again and again grants no
share each time. Nor has a client a share whom the store has refused, until it would have room again. A rule in shadow refuses
nobody, whatever its `on_error` is.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from django.utils.translation import gettext_lazy as _

from ratewindow import conf
from ratewindow.limiter.memory import MemoryStore
from ratewindow.limiter.reply import decision, refusal_code
from ratewindow.limiter.types import Check, Decision, RuleDecision, What, Window
from ratewindow.request.prepare import Question, policy
from ratewindow.rulebook import current

MOST_STATES = 20_000  # of one window for one client; those that were charged longest ago are evicted first

RETRY_S = 2.0  # the client's Retry-After: by then a server that is back has been noticed


def unasked(question: Question) -> Decision:
    """The decision on a question without checks, or one that something settled refuses."""
    outcome = "other" if question.refused else "passed"
    return Decision.of([*question.settled_for(question.refused), *(_uncharged(check, outcome) for check in question.checks)])


def unanswered(question: Question, what: What, cause: str) -> Decision:
    """The decision on a question without an answer of the store; `cause` says why."""
    policies = _policies(question)
    if what in ("hit", "peek") and "refuse" in policies:
        parts = _refused(question.checks, policies, cause)
    else:
        parts = _passing(question.checks, policies, what, cause)
    return Decision.of([*question.settled_for(not all(part.allowed for part in parts)), *parts])


def in_words() -> str:
    """What holds now for requests that match the rules in force; without any, what the setting says."""
    found = frozenset(policy(rule) for rule in current.held().by_name.values() if rule.mode == "enforce")
    return str(_HOLDING[found or frozenset({conf.current().on_error})])


_HOLDING = {
    frozenset({"allow"}): _("requests pass uncounted"),
    frozenset({"refuse"}): _("requests are refused with 503"),
    frozenset({"local"}): _("requests are counted by each process for itself"),
    frozenset({"allow", "refuse"}): _("requests pass uncounted or are refused with 503, as each rule says"),
    frozenset({"allow", "local"}): _("requests pass uncounted or are counted by each process for itself, as each rule says"),
    frozenset({"refuse", "local"}): _(
        "requests are refused with 503 or are counted by each process for itself, as each rule says"
    ),
    frozenset({"allow", "refuse", "local"}): _(
        "requests pass uncounted, are refused with 503 or are counted by each process for itself, as each rule says"
    ),
}


def _policies(question: Question) -> list[str]:
    """One for each check. A rate in code and a row in shadow share their name, not their policy."""
    usual = conf.current().on_error
    if usual == "allow" and not any(rule.on_error for rule in question.rules):
        return [usual] * len(question.checks)
    by_name = {rule.name: policy(rule) for rule in question.rules if not rule.is_beside}
    return [by_name.get(check.rule, usual) if check.enforce else "allow" for check in question.checks]


def _refused(checks: Sequence[Check], policies: Sequence[str], cause: str) -> list[RuleDecision]:
    """One rule that refuses is enough to refuse the request, and nothing is charged anywhere."""
    code = refusal_code(checks[policies.index("refuse")].keys[0])
    return [
        RuleDecision(
            allowed=False,
            retry_after=RETRY_S,
            reset_after=RETRY_S,
            rule=check.rule,
            reason="store",
            id=code,
            outcome="refused",
            cause=cause,
        )
        if each == "refuse"
        else _uncharged(check, outcome="other")
        for check, each in zip(checks, policies, strict=True)
    ]


def _passing(checks: Sequence[Check], policies: Sequence[str], what: What, cause: str) -> list[RuleDecision]:
    """The rules that count locally decide together, all or nothing; the others follow them."""
    counted = [check for check, each in zip(checks, policies, strict=True) if each == "local"]
    refusing = [check for check in counted if _still_refused_s(check)]
    if what == "hit" and refusing:
        return [
            _refused_before(check, refusing[0], cause) if check in refusing else _uncharged(check, outcome="other")
            for check in checks
        ]
    local = iter(count_here(counted, what) if counted else ())
    parts = [
        next(local) if each == "local" else _uncharged(check, reason="store")
        for check, each in zip(checks, policies, strict=True)
    ]
    refused = not all(part.allowed for part in parts)
    for part, each in zip(parts, policies, strict=True):
        if each == "local":
            part.cause, part.reason = cause, part.reason or ("store" if part.outcome == "passed" else "")
        elif refused:
            part.reason, part.outcome = "", "other"
        else:
            part.cause, part.forced = cause, what == "force" and each == "refuse"
    return parts


def _uncharged(check: Check, outcome: str = "passed", reason: str = "") -> RuleDecision:
    """A decision that has charged nothing, so that nothing can be refunded; by its check it can still be charged later."""
    return RuleDecision(
        rule=check.rule, reason=reason, outcome=outcome, mode="enforce" if check.enforce else "shadow", check=check
    )


_counted = MemoryStore(MOST_STATES)
_refused_until_s: dict[tuple[str, ...], float] = {}  # by the keys of a check, by the monotonic clock


def note_refusal(question: Question, decision: Decision) -> None:
    """Remember whom the store has refused, and until when, for rules that count in this process without it."""
    for check, each, part in zip(question.checks, _policies(question), decision.parts, strict=True):
        if each == "local" and part.outcome == "refused" and part.retry_after:
            if len(_refused_until_s) >= MOST_STATES:
                _refused_until_s.clear()
            _refused_until_s[check.keys] = time.monotonic() + part.retry_after


def _still_refused_s(check: Check) -> float:
    return max(0.0, _refused_until_s.get(check.keys, 0.0) - time.monotonic()) if check.enforce else 0.0


def _refused_before(check: Check, first: Check, cause: str) -> RuleDecision:
    """The decision of a rule by which the store has refused the client, while it has no room. The code is that of the
    `first` such rule."""
    wait_s = _still_refused_s(check)
    return RuleDecision(
        allowed=False,
        retry_after=wait_s,
        reset_after=wait_s,
        rule=check.rule,
        reason="limit",
        id=refusal_code(first.keys[0]),
        outcome="refused",
        check=check,
        cause=cause,
    )


def count_here(checks: Sequence[Check], what: What) -> list[RuleDecision]:
    """The decisions of these rules, each by this process's share. The store has nothing to refund of them."""
    processes = conf.current().local_processes
    shared = [_shared(check, processes) for check in checks]
    parts = decision(shared, _counted.run(shared, what), what).parts
    for part, check in zip(parts, checks, strict=True):
        part.check, part.at_s = check, time.time()
        part.here = tuple(answer.charged_at_ms for answer in part.windows)
        part.windows = tuple([answer._replace(charged_at_ms=-1) for answer in part.windows])
    return list(parts)


def refund_here(part: RuleDecision) -> None:
    """Refund what a decision of `count_here` has charged."""
    if part.check is not None and part.here:
        _counted.refund([(_shared(part.check, conf.current().local_processes), part.here)])
        part.here = ()


def share_of(limit: int, processes: int) -> int:
    """The share of one of so many processes: at least one unit, but nothing of a limit of 0."""
    return max(1, limit // processes) if limit else 0


@lru_cache(maxsize=4096)
def _window(window: Window, processes: int) -> Window:
    burst = None if window.burst is None else share_of(window.burst, processes)
    return replace(window, limit=share_of(window.limit, processes), burst=burst)


def _shared(check: Check, processes: int) -> Check:
    """The check of one process. A cost above its share is charged as the share; one above the limit never passes."""
    windows = tuple([_window(window, processes) for window in check.windows])
    fits = check.cost <= min(map(_capacity, check.windows))
    return check._replace(windows=windows, cost=min(check.cost, *map(_capacity, windows)) if fits else check.cost)


def _capacity(window: Window) -> int:
    return window.burst if window.limit and window.burst is not None else window.limit


def forget_counts() -> None:
    """Start without counts, in a fork, which has a share of its own, and after a change of the settings."""
    global _counted
    _counted = MemoryStore(MOST_STATES)
    _refused_until_s.clear()
