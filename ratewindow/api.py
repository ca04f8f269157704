"""Rules by name from any code: `hit`, `peek`, `refund`, `reset`, `acquire`, and their asynchronous forms.

`who` is a request, which each rule tells apart by its own key, or an identity such as ``"user:42"``, a tuple
when the rule's key joins several. Blocks and exemptions hold for both. A name that is neither a rule nor a rate in
code lets pass who is not blocked, and the log says so once. ValueError names a name, a cost or an identity that is none.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeGuard, cast

from django.http import HttpRequest

from ratewindow import conf
from ratewindow.exceptions import RateLimited
from ratewindow.identity import original, parse_identity
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.limiter import check_cost, payable
from ratewindow.limiter.types import Decision, Refunds, What
from ratewindow.overrides import Overrides, Ruling
from ratewindow.reporting import counters
from ratewindow.request import charge_later, decide, refusal, visit
from ratewindow.request.overrides import adapted, judge
from ratewindow.request.prepare import NOTHING, Question, ask, ask_about
from ratewindow.rulebook import current
from ratewindow.rules import code_rates
from ratewindow.rules.rule import Rule, check_name
from ratewindow.store import outage, stores

logger = logging.getLogger("ratewindow")

Who = HttpRequest | str | tuple[str, ...]


def hit(
    rule: str, who: Who, cost: int = 1, force: bool = False, raise_exception: bool = False, rate: str | None = None
) -> Decision:
    """Admit and charge `cost` units, or refuse and charge nothing.

    `force` admits whatever stands against it. With `raise_exception` a refusal is raised as `RateLimited`,
    which the middleware answers. `rate`, as ``"5/h"``, is the rule's until one of that name is enforced or switched off;
    this process then knows it for calls without one, too. ValueError names a bad one, or another that code gives that name.
    """
    _give(rule, rate)
    what: What = "force" if force else "hit"
    told = decide.decide(_question(current.rulebook(), rule, who, cost, force), what, _vain(who))
    return _admitted(_told(who, told), raise_exception)


def peek(rule: str, who: Who, cost: int = 1, rate: str | None = None) -> Decision:
    """What `hit` would answer; charges nothing, locks nobody, and is not counted in reports."""
    _give(rule, rate)
    return _of_the_rule(decide.decide(_question(current.rulebook(), rule, who, cost), "peek", _vain(who)))


def refund(rule: str, who: Who, cost: int = 1) -> None:
    """Give back units: the oldest that count, never more than were charged. While Redis is away nothing is given back."""
    if refunds := _refunds(_counted(current.rulebook(), rule, who, cost)):
        charge_later.give_back(refunds, _vain(who))


def reset(rule: str, who: Who) -> None:
    """Forget what the rule counted for this client, and a lock. Other processes may refuse for a second more.

    Raises RedisError or OSError while Redis is away: who lets a client go wants to know that it was not done.
    """
    if keys := _states(current.rulebook(), rule, who):
        stores.store().reset(keys)
        outage.refusals.forget()


def acquire(rule: str, who: Who, cost: int = 1, *, timeout: str | timedelta, rate: str | None = None) -> Decision:
    """`hit`, waiting for its turn, but no longer than `timeout`, such as ``"5s"``: refused when its turn is later.

    What was decided while it waited is not told: neither to the request nor in reports.
    """
    _give(rule, rate)
    deadline_s = time.monotonic() + parse_duration(timeout) / 1000
    while True:
        told = decide.decide(_question(current.rulebook(), rule, who, cost), "hit", _vain(who))
        if (wait_s := _next_try_s(told, deadline_s)) is None:
            return _told(who, told)
        time.sleep(wait_s)


async def ahit(
    rule: str, who: Who, cost: int = 1, force: bool = False, raise_exception: bool = False, rate: str | None = None
) -> Decision:
    """`hit`, awaited."""
    _give(rule, rate)
    what: What = "force" if force else "hit"
    told = await decide.adecide(await _aquestion(rule, who, cost, force), what, _vain(who))
    return _admitted(await _atold(who, told), raise_exception)


async def apeek(rule: str, who: Who, cost: int = 1, rate: str | None = None) -> Decision:
    """`peek`, awaited."""
    _give(rule, rate)
    return _of_the_rule(await decide.adecide(await _aquestion(rule, who, cost), "peek", _vain(who)))


async def arefund(rule: str, who: Who, cost: int = 1) -> None:
    """`refund`, awaited."""
    if refunds := _refunds(_counted(await _abook(rule, who), rule, who, cost)):
        await charge_later.agive_back(refunds, _vain(who))


async def areset(rule: str, who: Who) -> None:
    """`reset`, awaited."""
    if keys := _states(await _abook(rule, who), rule, who):
        await stores.answered((await stores.astore()).reset(keys))
        outage.refusals.forget()


async def aacquire(
    rule: str,
    who: Who,
    cost: int = 1,
    *,
    timeout: str | timedelta,  # noqa: ASYNC109  as `acquire`
    rate: str | None = None,
) -> Decision:
    """`acquire`, awaited."""
    _give(rule, rate)
    deadline_s = time.monotonic() + parse_duration(timeout) / 1000
    while True:
        told = await decide.adecide(await _aquestion(rule, who, cost), "hit", _vain(who))
        if (wait_s := _next_try_s(told, deadline_s)) is None:
            return await _atold(who, told)
        await asyncio.sleep(wait_s)


def _give(name: str, rate: str | None) -> None:
    if rate is not None:
        code_rates.register_call(name, rate)


async def _aquestion(name: str, who: Who, cost: int, force: bool = False) -> Question:
    return _question(await _abook(name, who), name, who, cost, force)


async def _abook(name: str, who: Who) -> current.Rulebook:
    """The rules, once the request has loaded what will be asked of it."""
    book = await current.arulebook()
    if _is_request(who):
        if (rule := _rule(book, name)) is not None:
            await rule.recipe.load(who)
        if book.overrides is not None:
            await book.overrides.load(who)
    return book


def _question(book: current.Rulebook, name: str, who: Who, cost: int, force: bool = False) -> Question:
    rule = _rule(book, name)
    check_cost(cost)  # also while no rule has that name: it would come out on the day that one does
    rules: Sequence[Rule] = (rule,) if rule is not None else ()
    if book.overrides is not None and conf.current().enabled:
        rules, settled = judge(_rulings(book.overrides, who), rules, force)
        if settled:
            return Question([], settled, ())
    if not rules:
        return _nothing(who)
    question = _asked(who, rules[0], cost)
    return question._replace(checks=[payable(check) for check in question.checks]) if force else question


def _counted(book: current.Rulebook, name: str, who: Who, cost: int) -> Question:
    """Where the rule counts this client, who may be blocked or let pass just now: perhaps by another rate."""
    rule = _rule(book, name)
    if rule is None:
        return _nothing(who)
    if book.overrides is not None:
        (rule,) = adapted(_rulings(book.overrides, who), (rule,))
    return _asked(who, rule, cost)


def _nothing(who: Who) -> Question:
    """No rule holds; an identity that is none would come out on the day that one does."""
    if not _is_request(who):
        parse_identity(cast("str | tuple[str, ...]", who))
    return NOTHING


def _rulings(overrides: Overrides, who: Who) -> list[Ruling]:
    if _is_request(who):
        return overrides.of_request(who)
    identity = cast("str | tuple[str, ...]", who)
    parse_identity(identity)  # says what is wrong with it
    return overrides.of_identity(identity)


def _asked(who: Who, rule: Rule, cost: int) -> Question:
    if _is_request(who):
        return ask(who, [rule], cost)
    return ask_about(parse_identity(cast("str | tuple[str, ...]", who), rule.recipe.normaliser), rule, cost)


def _is_request(who: Any) -> TypeGuard[HttpRequest]:
    """Also the one that Django REST framework wraps around Django's, with the user that it has authenticated."""
    return isinstance(who, HttpRequest) or isinstance(getattr(who, "_request", None), HttpRequest)


def _rule(book: current.Rulebook, name: str) -> Rule | None:
    """The row of that name, unless it is in shadow and code gives a rate: as at a decorated view. Who charges it by
    name knows what happened, so it does not wait for an answer."""
    if not isinstance(name, str) or name not in book.by_name:
        check_name(name)
    row, code = book.by_name.get(name), None if book.alone else code_rates.rule(name)
    if row is None:
        row = code
        if code is None and not code_rates.has_rate(name) and conf.current().enabled:
            book.log_missing(name)
    elif row.mode == "shadow" and not book.alone and code_rates.has_rate(name):
        row = code or row.counting_beside_code  # a rate by a function is known to its view alone
    if row is None or not row.windows or row.mode == "off" or not conf.current().enabled:
        return None
    return row if row.count_when is None else row.unconditional


def _vain(who: Who) -> str:
    """Why this request has waited for Redis in vain, if it has."""
    return decide.waited(visit.decisions_of(original(who))) if _is_request(who) else ""


def _told(who: Who, told: Decision) -> Decision:
    """The decision, once all who should know of it do."""
    _count(who, told)
    if not told.allowed and _is_request(who):
        refusal.announce(original(who), told)
    return _of_the_rule(told)


async def _atold(who: Who, told: Decision) -> Decision:
    """`_told`, awaited."""
    _count(who, told)
    if not told.allowed and _is_request(who):
        await refusal.aannounce(original(who), told)
    return _of_the_rule(told)


def _count(who: Who, told: Decision) -> None:
    """By the guard around the request, which also writes the headers, or here."""
    if _is_request(who) and visit.is_inside(request := original(who)):
        visit.overtake(request, told)
    else:
        counters.record(told.decisions)


def _of_the_rule(told: Decision) -> Decision:
    """What was decided on a request says nothing of a rule in shadow: here it is the rule that was asked about."""
    return told.parts[0] if len(told.parts) == 1 else told


def _admitted(told: Decision, raise_exception: bool) -> Decision:
    if raise_exception and not told.allowed:
        raise RateLimited(told)
    return told


def _refunds(question: Question) -> Refunds:
    return [(check, [None] * len(check.windows)) for check in question.checks]


def _states(book: current.Rulebook, name: str, who: Who) -> list[str]:
    """Where the rule counts this client, by its own limits and by another rate, and where it locks it out."""
    rule = _rule(book, name)
    checks = [*(_asked(who, rule, 0) if rule is not None else NOTHING).checks, *_counted(book, name, who, 0).checks]
    return list(dict.fromkeys(key for check in checks for key in (*check.keys, *filter(None, [check.lock]))))


def _next_try_s(told: Decision, deadline_s: float) -> float | None:
    """How long to wait before asking again; None when it was admitted, or its turn comes too late."""
    if told.allowed or told.retry_after is None or time.monotonic() + told.retry_after > deadline_s:
        return None
    return told.retry_after
