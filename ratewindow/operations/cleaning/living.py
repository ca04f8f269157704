"""Which states in Redis are to be kept, and what each of them may be like."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from ratewindow.limiter.rates import parse_rates
from ratewindow.limiter.redis.scripts import SLACK_MS
from ratewindow.limiter.types import Window
from ratewindow.models import Override, RateRule
from ratewindow.overrides import RATE
from ratewindow.rulebook import reading
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule
from ratewindow.store import state_keys

_OF_LISTS = "sliding_log"  # the only algorithm whose state is a list; all others have a string
RULE_TAG = 8  # characters


@dataclass(frozen=True)
class Likeness:
    """What the state of one window, or of a lock, may be like; the usual one is of a rate that only code knows."""

    types: str = "string list"
    most_ms: int | None = None  # until it expires, unless its value says that it lasts longer
    says: str = ""  # "meter" or "lock" if its value may say so
    ahead_ms: int | None = None  # how far in the future its value may be


UNKNOWN = Likeness()


@dataclass(frozen=True)
class Living:
    """The state to keep: windows and locks of rules in the database, and any window of rules that only code knows."""

    states: dict[str, Likeness]  # by rule tag + window tag
    rules: frozenset[str]  # rule tags

    def likeness(self, tags: str) -> Likeness | None:
        """That of the state with these tags; None if no rule owns it."""
        return self.states.get(tags) or (UNKNOWN if tags[:RULE_TAG] in self.rules else None)


def read_living() -> Living:
    """Read the rules now."""
    rules = reading.read_rules()
    states = {
        state_keys.rule_tag(name, is_beside) + tag: likeness
        for name, tag, likeness in _states(rules)
        for is_beside in (False, True)  # in shadow a rule counts apart from what is enforced under its name
    }
    # Keep the state of rows that cannot be read as rules: they may be corrected.
    unread = set(RateRule.objects.values_list("name", flat=True)) - {rule.name for rule in rules}
    return Living(states, frozenset(map(state_keys.rule_tag, code_rates.names() | unread)))


def _states(rules: Iterable[Rule]) -> Iterator[tuple[str, str, Likeness]]:
    """The name of a rule, the tag of a window or a lock, and what its state is like."""
    for name, window in [
        *_of_other_rates(rules),
        *((rule.name, window) for rule in rules for window in (*rule.windows, *rule.candidate)),
    ]:
        yield name, window.tag, _of_window(window)
    for rule in rules:
        if rule.penalty_ms:
            yield rule.name, state_keys.LOCK_TAG, Likeness("string", rule.penalty_ms + SLACK_MS, "lock")


def _of_other_rates(rules: Iterable[Rule]) -> Iterator[tuple[str, Window]]:
    """Rule and window of the rates that override rules for some clients."""
    names = [rule.name for rule in rules]
    for rule, rate in Override.objects.get_queryset().not_ended().filter(action=RATE).values_list("rule", "rate").distinct():
        with suppress(ValueError):  # an invalid rate applies to nobody
            for window in parse_rates(rate):
                yield from ((name, window) for name in ([rule] if rule else names))


def _of_window(window: Window) -> Likeness:
    """A state lives for two periods at most, and as long as its units take to drain; longer if the caller's clock was ahead."""
    drains_ms = (window.burst or 0) * window.period_ms // max(1, window.limit)
    most_ms = max(2 * window.period_ms, drains_ms) + window.period_ms + SLACK_MS
    types = "list" if window.algorithm == _OF_LISTS else "string"
    return Likeness(types, most_ms, "meter" if window.script == "meter" else "", window.period_ms)
