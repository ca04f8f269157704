"""One client: what is counted for it under each rule and which blocks hold, and its release from all of that."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, ngettext
from redis.exceptions import RedisError

from ratewindow import rooms
from ratewindow.conf.in_words import listed
from ratewindow.identity import split
from ratewindow.limiter.durations import format_duration
from ratewindow.limiter.problem import Problem
from ratewindow.limiter.types import RuleDecision, WindowAnswer
from ratewindow.models import Override
from ratewindow.overrides.lookup import BLOCK, RATE, Ruling
from ratewindow.overrides.subjects import EVERYBODY_TOGETHER, in_words, stored, subject_of
from ratewindow.request import decide, prepare
from ratewindow.rulebook import current
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule
from ratewindow.store import outage, stores


def used(decision: RuleDecision) -> list[str]:
    """Of each window: ``4 of 5 in 1m``."""
    return [_used(answer) for answer in decision.windows]


def _used(answer: WindowAnswer) -> str:
    """``4 of 5 in 1m``; of a bucket, of what it admits at once."""
    window = answer.window
    most = (window.limit and window.burst) or window.limit
    return gettext("%(used)s of %(limit)s in %(period)s") % {
        "used": max(0, most - answer.remaining),
        "limit": most,
        "period": window.period,
    }


def free(decision: RuleDecision) -> str:
    """When what is full has room again, or what is locked out is let in: ``in 41s``; empty if there is room."""
    waits_ms = [answer.wait_ms for answer in decision.windows if answer.wait_ms]
    waits_ms += [int(1000 * decision.retry_after)] if decision.retry_after else []  # of a penalty
    if any(wait_ms < 0 for wait_ms in waits_ms):
        return gettext("never")
    return gettext("in %s") % format_duration(1000 * math.ceil(max(waits_ms) / 1000)) if waits_ms else ""


@dataclass(frozen=True)
class Standing:
    """`rules` is what each that has counted something would decide now on a cost of 1; `note` says why there are none."""

    overrides: Iterable[Override]
    rules: Sequence[RuleDecision] = ()
    note: str = ""


def standing(identity: str, rule: str = "", with_overrides: bool = True) -> Standing:
    """How a client stands under one rule or all; without overrides by the limits that rules have for everybody.

    It charges nothing. ValueError names an invalid identity or an unknown rule.
    """
    who = values_of(identity)
    book = current.rulebook() if with_overrides else current.rulebook().with_overrides(None)
    rules = counting_rules(book, rule)
    rulings = rulings_of(book, who)
    in_force = Override.objects.in_force().filter(rule__in=["", rule]) if rule else Override.objects.in_force()
    overrides = in_force.filter(pk__in=[each.pk for each in rulings])
    if with_overrides:  # also those for exactly this network or group, or for everybody
        overrides |= in_force.naming(subject_of(identity))
    if not who:
        return Standing(overrides, note=gettext("It is no single client, so it has no counts."))
    holding = prepare.adapted([each for each in rulings if each.action == RATE], rules)
    asked: list[RuleDecision] = []
    for each in {each.state_names: each for each in holding}.values():  # a row and code may have one count
        asked += decide.decide(prepare.ask_about(who, [each], 1), "peek").parts
    if any(decision.cause for decision in asked):
        return Standing(overrides, note=gettext("Its counts are not known: Redis does not answer."))
    counted = [decision for decision in asked if _is_counted(decision)]
    return Standing(overrides, counted, "" if counted else gettext("Nothing is counted for it."))


def rulings_of(book: current.Rulebook, who: tuple[str, ...]) -> Sequence[Ruling]:
    """The blocks, exemptions and other rates of a client by its `values_of`."""
    return book.overrides.of_identity(who) if who and book.overrides is not None else ()


def _is_counted(decision: RuleDecision) -> bool:
    """Whether a peek has found anything."""
    return decision.reason == "penalty" or any(answer.reset_ms > 0 for answer in decision.windows)


def values_of(identity: str) -> tuple[str, ...]:
    """The typed values under which a client is counted; empty if it is not a single client. ValueError if it is invalid or
    only a hash."""
    subject = subject_of(identity)
    if subject.hashed:
        raise Problem(
            "{text!r} is only a hash, by which its counts cannot be found: write the identity in full", text=subject.text
        )
    if subject.key:
        return split(subject.text)
    return (subject.text,) if subject.one_client or subject.text == EVERYBODY_TOGETHER else ()


def counting_rules(book: current.Rulebook, name: str = "") -> list[Rule]:
    """The rules that may have counts, all or those of one name: each row, the one in shadow beside what is enforced, or the rate
    in code that holds without a row or beside one in shadow. ValueError for an unknown name."""
    known = {*book.by_name, *code_rates.load_names()}
    if name and name not in known:
        raise Problem("there is no rule {rule!r}: manage.py ratewindow rules lists them", rule=name)
    counting = []
    for each in [name] if name else sorted(known):
        row, code = book.by_name.get(each), code_rates.rule(each)
        if row is not None:
            counting += [row, row.beside]
        if code is not None and (row is None or row.mode == "shadow"):
            counting.append(code)
    return [rule for rule in counting if rule.windows]


@dataclass(frozen=True)
class Released:
    """The result of a release."""

    who: str
    rules: tuple[str, ...] = ()  # that had counted something
    ended: int | None = 0  # blocks; None if that is not told
    failure: str = ""  # why not all counts could be deleted

    def in_words(self) -> str:
        counts = gettext("its counts under %s deleted") % listed(self.rules) if self.rules else gettext("no counts deleted")
        if self.ended is None:
            blocks = gettext("any block that named it ended")
        else:
            blocks = ngettext("%d block ended", "%d blocks ended", self.ended) % self.ended
        sentence = gettext("Released %(who)s: %(done)s.") % {"who": self.who, "done": listed([counts, blocks])}
        if not self.failure:
            return sentence
        left = gettext("Its counts remain, since Redis does not answer (%s): release it again once it does.")
        return f"{sentence} {left % self.failure}"


def release(identity: str, rule: str = "") -> Released:
    """End the blocks that name a client and delete its counts, under one rule or under all.

    A network of several clients, a group and everybody have blocks but no counts. ValueError names an invalid identity or
    an unknown rule. Blocks come first, since they apply while Redis is unavailable, too.
    """
    subject, who = subject_of(identity), values_of(identity)
    book = current.rulebook()
    rules = counting_rules(book, rule)
    own = [each.with_windows(each.windows) for each in rules]  # also where code gives this client other limits
    with_counts = [*own, *rules, *prepare.adapted(rulings_of(book, who), rules)] if who else []
    blocks = Override.objects.naming(subject).filter(action=BLOCK)
    ended = len((blocks.filter(rule=rule) if rule else blocks).end())
    cleared: dict[str, None] = {}  # the names of the rules that had some
    failure = ""
    try:
        for each in with_counts:
            question = prepare.ask_about(who, [each], 1)
            if any(map(_is_counted, decide.decide(question, "peek").parts)):
                cleared[each.name] = None
            stores.store().reset([key for check in question.checks for key in (*check.keys, *filter(None, [check.lock]))])
            outage.refusals.forget()
    except (RedisError, OSError) as error:
        failure = f"{type(error).__name__}: {error}"
    done = {"rule": rule, "counts": list(cleared), "blocks": ended, **({"failure": failure} if failure else {})}
    for note in rooms.plugged("note_release"):
        note(stored(subject), done)
    return Released(in_words(stored(subject)), tuple(cleared), ended, failure)
