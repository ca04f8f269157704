"""Under which values a client is counted, and by which rules of a name."""

from collections.abc import Iterator

from ratewindow.identity import split
from ratewindow.limiter.problem import Problem
from ratewindow.overrides.as_typed import EVERYBODY_TOGETHER
from ratewindow.overrides.subjects import Subject, parse_subject
from ratewindow.request.overrides import adapted
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule


def subject_of(identity: str) -> Subject:
    """`parse_subject`, and of ``global`` the one client of rules that count all together. Raises ValueError."""
    return Subject(EVERYBODY_TOGETHER) if identity.strip() == EVERYBODY_TOGETHER else parse_subject(identity)


def values_of(subject: Subject) -> tuple[str, ...]:
    """The typed values under which a client is counted; empty if the subject is not a single client. ValueError for a hash."""
    if subject.text == EVERYBODY_TOGETHER:
        return (subject.text,)
    if subject.key:
        if subject.hashed:
            raise Problem(
                "{text!r} is only a hash, by which its counts cannot be found: write the identity in full", text=subject.text
            )
        return split(subject.text)
    return (subject.text,) if subject.one_client else ()


def names(book: Rulebook) -> set[str]:
    """Of all rules: rows, and rates in code."""
    return {*book.by_name, *code_rates.names()}


def named(book: Rulebook, name: str) -> Iterator[Rule]:
    """The rules of one name that may have counts: the row, the one in shadow beside what is enforced, and the rate in code."""
    row, code = book.by_name.get(name), code_rates.rule(name)
    found = ([row, row.beside] if row is not None else []) + ([code] if code is not None else [])
    yield from (rule for rule in found if rule.windows)


def named_for(book: Rulebook, name: str, who: tuple[str, ...]) -> list[Rule]:
    """`named`, and the same with another rate where one holds for the client."""
    rules = list(named(book, name))
    if book.overrides is not None:
        rules += [each for each in adapted(book.overrides.of_identity(who), rules) if each not in rules]
    return rules
