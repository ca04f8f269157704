"""Letting a client go: what rules have counted for it, its locks, and the blocks that name it."""

from collections.abc import Iterator
from dataclasses import dataclass

from redis.exceptions import RedisError

from ratewindow.identity import parse_identity, split
from ratewindow.models import Override
from ratewindow.overrides import BLOCK
from ratewindow.overrides.subjects import EVERYBODY, Subject, in_words, parse_subject, stored
from ratewindow.request import decide
from ratewindow.request.overrides import adapted
from ratewindow.request.prepare import ask_about
from ratewindow.rulebook import current
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule
from ratewindow.store import outage, stores

EVERYBODY_TOGETHER = "global"  # the one client of rules that count all together


@dataclass(frozen=True)
class Released:
    """What was done. `rules` are those that had counted something; `blocked_by` says whom the blocks are about that still
    hold for it, and `blocked_from` from which rules, with an empty name where it is from all."""

    who: str
    rules: tuple[str, ...] = ()
    ended: int = 0
    blocked_by: tuple[str, ...] = ()
    blocked_from: tuple[str, ...] = ()
    counts: bool = True  # whether this is one client, for whom something can be counted
    unforgotten: str = ""  # why not all that was counted could be forgotten

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, name_blocks: bool = True) -> str:
        """What was done. Without `name_blocks` it is for people who may not see whom other blocks are about."""
        done = []
        if self.rules:
            done.append(f"what {', '.join(self.rules)} counted is forgotten")
        elif self.counts and not self.unforgotten:
            done.append("nothing was counted for it")
        if self.ended:
            done.append(f"{self.ended} {'block' if self.ended == 1 else 'blocks'} ended")
        else:
            done.append("no block named it")
        how_far = "Released only in part" if self.unforgotten else "Released"
        return f"{how_far} {self.who}: {', '.join(done)}.{self._left()}{self._wider(name_blocks)}"

    def _left(self) -> str:
        if not self.unforgotten:
            return ""
        return f" What was counted stays, since Redis does not answer ({self.unforgotten}): release it again once it does."

    def _wider(self, name_blocks: bool) -> str:
        if not self.blocked_by:
            return ""
        where = "" if "" in self.blocked_from else f" from {', '.join(self.blocked_from)}"
        whose = f"a block of {' and of '.join(self.blocked_by)}" if name_blocks else "a block that does not name it"
        return f" It is still blocked{where}, by {whose}."


def release(identity: str, rule: str = "") -> Released:
    """End the blocks that name a client, and forget, under this rule or under all of them, what was counted for it.

    A network of several clients, a group and everybody have blocks and no counts. ValueError names an identity or a
    rule that is none. The blocks come first, since they hold while Redis is away, too.
    """
    everybody_together = identity.strip() == EVERYBODY_TOGETHER
    subject = Subject(EVERYBODY_TOGETHER) if everybody_together else parse_subject(identity)
    book = current.rulebook()
    names = {*book.by_name, *code_rates.names()}
    if rule and rule not in names:
        raise ValueError(f"no rule is called {rule!r}: manage.py ratewindow rules lists them")
    who = _client(subject)
    blocks = Override.objects.get_queryset().naming(subject).filter(action=BLOCK)
    ended = (blocks.filter(rule=rule) if rule else blocks).end()
    forgotten, unforgotten = _forget_all(book, sorted({rule} if rule else names), who)
    still = _still_blocking(who, rule)
    return Released(
        in_words(stored(subject)),
        forgotten,
        ended,
        blocked_by=tuple(sorted({in_words(each.identity) if each.identity != EVERYBODY else "everybody" for each in still})),
        blocked_from=tuple(sorted({each.rule for each in still})),
        counts=bool(who),
        unforgotten=unforgotten,
    )


def _still_blocking(who: tuple[str, ...], rule: str) -> list[Override]:
    """The blocks that hold for a client, or keep it from this rule; as rows, which have just been ended or not."""
    held = current.rulebook().overrides if who else None
    if held is None:
        return []
    found = [each.pk for each in held.of_identity(who) if each.action == BLOCK and (not rule or each.rule in ("", rule))]
    return list(Override.objects.in_force().filter(pk__in=found))


def _forget_all(book: current.Rulebook, names: list[str], who: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """The rules that had counted something, which is forgotten, and what went wrong before all of them were asked."""
    forgotten: list[str] = []
    try:
        forgotten.extend(name for name in names if who and _forget(book, name, who))
    except (RedisError, OSError) as error:
        return tuple(forgotten), f"{type(error).__name__}: {error}"
    return tuple(forgotten), ""


def _client(subject: Subject) -> tuple[str, ...]:
    """The typed values under which a client is counted; none for what is no one client."""
    if subject.text == EVERYBODY_TOGETHER:
        return (subject.text,)
    if subject.key:
        if subject.hashed:
            raise ValueError(f"{subject.text!r} is only a hash, from which nobody finds what was counted: write it in full")
        return split(subject.text)
    return (subject.text,) if subject.one_client else ()


def _forget(book: current.Rulebook, name: str, who: tuple[str, ...]) -> bool:
    """Forget what all rules of that name counted, that in code and a row in shadow beside it; whether there was anything."""
    rules = list(_rules(book, name))
    if book.overrides is not None:
        rules += [each for each in adapted(book.overrides.of_identity(who), rules) if each not in rules]
    counted = False
    for rule in rules:
        question = ask_about(parse_identity(who, rule.recipe.normaliser), rule, 1)
        for told in decide.decide(question, "peek").decisions:
            counted = counted or told.reason == "penalty" or any(answer.reset_ms > 0 for answer in told.windows)
        stores.store().reset([key for check in question.checks for key in (*check.keys, *filter(None, [check.lock]))])
    outage.refusals.forget()
    return counted


def _rules(book: current.Rulebook, name: str) -> Iterator[Rule]:
    row, code = book.by_name.get(name), code_rates.rule(name)
    found = ([row, row.counting_beside_code] if row is not None else []) + ([code] if code is not None else [])
    yield from (rule for rule in found if rule.windows)
