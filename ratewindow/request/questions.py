"""What rules ask the store about a client, whether it is given as a request or as an identity."""

from collections.abc import Sequence
from typing import Any, TypeGuard, cast

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.identity import original, parse_identity
from ratewindow.limiter.arguments import check_cost, payable
from ratewindow.limiter.types import Decision
from ratewindow.overrides.lookup import Overrides, Ruling
from ratewindow.request import visit
from ratewindow.request.prepare import Question, Who, adapted, ask, ask_about, judge, load
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import limits_from
from ratewindow.rules.rule import Rule


async def loaded(book: Rulebook, rules: Sequence[Rule], who: Who) -> Sequence[Rule]:
    """The rules, once what they need of the request has been fetched; for an identity with the limits that code gives it."""
    if not is_request(who):
        return [await _afinal(rule, cast("str | tuple[str, ...]", who)) for rule in rules]
    await load(rules, who)
    if book.overrides is not None:
        await book.overrides.load(who, rules)
    return rules


async def _afinal(rule: Rule, who: str | tuple[str, ...]) -> Rule:
    """The rule with the limits that the site's function gives this identity, which no request would remember."""
    if not rule.limits_from:
        return rule
    taken = await limits_from.ataken(rule, who, parse_identity(who, rule.recipe.normaliser))
    return taken.with_windows(taken.windows)


def question_of(book: Rulebook, rules: Sequence[Rule], who: Who, cost: int, force: bool = False) -> Question:
    """What these rules ask the store about this client, unless blocks and exemptions settle it."""
    check_cost(cost)  # also while no rule has that name
    if book.overrides is not None and conf.current().enabled:
        rules, settled = judge(rulings_of(book.overrides, who, rules), rules, who, force)
        if settled:
            return Question([], settled, ())
    question = checks_of(who, rules, cost).after(matched(who))
    return question._replace(checks=[payable(check) for check in question.checks]) if force else question


def counted(book: Rulebook, rules: Sequence[Rule], who: Who, cost: int) -> Question:
    """Where the rules count this client, even one that is blocked or exempt now: perhaps by another rate."""
    if book.overrides is not None:
        rules = adapted(rulings_of(book.overrides, who, rules), rules)
    return checks_of(who, rules, cost)


def rulings_of(overrides: Overrides, who: Who, rules: Sequence[Rule]) -> list[Ruling]:
    if is_request(who):
        return overrides.of_request(who, rules)
    return overrides.of_identity(cast("str | tuple[str, ...]", who))


def checks_of(who: Who, rules: Sequence[Rule], cost: int) -> Question:
    if is_request(who):
        return ask(who, rules, cost, conf.current())
    return ask_about(cast("str | tuple[str, ...]", who), rules, cost)


def is_request(who: Any) -> TypeGuard[HttpRequest]:
    """Also the one that Django REST framework wraps around Django's, with the user that it has authenticated."""
    return isinstance(who, HttpRequest) or isinstance(getattr(who, "_request", None), HttpRequest)


def matched(who: Who) -> Decision:
    """The decision on what this request has matched already."""
    return visit.of(original(who)).decision if is_request(who) else visit.NOTHING_MATCHED
