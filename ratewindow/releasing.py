"""Letting a client go: what rules have counted for it, its locks, and the blocks that name it."""

from collections.abc import Iterator
from dataclasses import dataclass

from ratewindow import coderules, gate, rulebook, stores
from ratewindow.identity import named, split
from ratewindow.models import Override
from ratewindow.overrides import BLOCK
from ratewindow.overrides.judging import adapted
from ratewindow.overrides.subjects import Subject, in_words, parse_subject, stored
from ratewindow.question import ask_about
from ratewindow.rule import Rule

EVERYBODY_TOGETHER = "global"  # the one client of rules that count all together


@dataclass(frozen=True)
class Released:
    """What was done. `rules` are those that had counted something; `blocked_from` those that a wider block is about, with
    an empty name where it is about all."""

    who: str
    rules: tuple[str, ...] = ()
    ended: int = 0
    blocked_from: tuple[str, ...] = ()
    counts: bool = True  # whether this is one client, for whom something can be counted

    def __str__(self) -> str:
        done = []
        if self.rules:
            done.append(f"what {', '.join(self.rules)} counted is forgotten")
        elif self.counts:
            done.append("nothing was counted for it")
        if self.ended:
            done.append(f"{self.ended} {'block' if self.ended == 1 else 'blocks'} ended")
        else:
            done.append("no block named it")
        return f"{self.who}: {', '.join(done)}.{self._wider()}"

    def _wider(self) -> str:
        if not self.blocked_from:
            return ""
        where = "" if "" in self.blocked_from else f" from {', '.join(self.blocked_from)}"
        return f" It is still blocked{where}, by a block of a network, of a group or of everybody."


def release(identity: str, rule: str = "") -> Released:
    """Forget, under this rule or under all of them, what was counted for a client, and end the blocks that name it.

    A network of several clients, a group and everybody have blocks and no counts. ValueError names an identity or a
    rule that is none; RedisError or OSError is raised while Redis is away, when nothing has been done.
    """
    everybody_together = identity.strip() == EVERYBODY_TOGETHER
    subject = Subject(EVERYBODY_TOGETHER) if everybody_together else parse_subject(identity)
    book = rulebook.current()
    names = {*book.by_name, *rulebook.code_names()}
    if rule and rule not in names:
        raise ValueError(f"no rule is called {rule!r}: manage.py ratewindow rules lists them")
    who = _client(subject)
    forgotten = tuple(name for name in sorted({rule} if rule else names) if who and _forget(book, name, who))
    blocks = Override.objects.get_queryset().filter(identity=subject.text, action=BLOCK)
    ended = (blocks.filter(rule=rule) if rule else blocks).end()
    held = rulebook.current().overrides if who else None
    still = held.of_identity(who) if held is not None and who else ()
    wider = {each.rule for each in still if each.action == BLOCK and (not rule or each.rule in ("", rule))}
    return Released(in_words(stored(subject)), forgotten, ended, tuple(sorted(wider)), counts=bool(who))


def _client(subject: Subject) -> tuple[str, ...]:
    """The typed values under which a client is counted; none for what is no one client."""
    if subject.text == EVERYBODY_TOGETHER:
        return (subject.text,)
    if subject.key:
        if subject.hashed:
            raise ValueError(f"{subject.text!r} is only a hash, from which nobody finds what was counted: write it in full")
        return split(subject.text)
    return (subject.text,) if subject.one_client else ()


def _forget(book: rulebook.Rulebook, name: str, who: tuple[str, ...]) -> bool:
    """Forget what all rules of that name counted, that in code and a row in shadow beside it; whether there was anything."""
    rules = list(_rules(book, name))
    if book.overrides is not None:
        rules += [each for each in adapted(book.overrides.of_identity(who), rules) if each not in rules]
    counted = False
    for rule in rules:
        question = ask_about(named(who, rule.recipe.spelling), rule, 1)
        for told in gate.decide(question, "peek").decisions:
            counted = counted or told.reason == "penalty" or any(answer.reset_ms > 0 for answer in told.windows)
        stores.store().reset([key for check in question.checks for key in (*check.keys, *filter(None, [check.lock]))])
    gate.refusals.forget()
    return counted


def _rules(book: rulebook.Rulebook, name: str) -> Iterator[Rule]:
    row, code = book.by_name.get(name), coderules.rule(name)
    found = ([row, row.beside] if row is not None else []) + ([code] if code is not None else [])
    yield from (rule for rule in found if rule.windows)
