"""Rules by name from any code: `hit`, `peek`, `refund`, `reset`, `acquire`, and their asynchronous forms.

`who` is a request, which each rule identifies by its own key, or an identity such as ``"user:42"``, a tuple
if the rule's key joins several. Blocks and exemptions hold for both. A name that is neither a rule nor a rate in
code allows every client that is not blocked, and is logged once. ValueError names a bad name, cost or identity.

What is called rarely is written once for both forms, as `Steps` (`request/decide.py`): a step is a pair, of which `run` calls the
first function and `arun` awaits the second. `hit` is called in each request, where a generator would cost 1.5 µs.
"""

import asyncio
import time
from collections.abc import Sequence
from datetime import timedelta
from operator import methodcaller
from typing import Unpack, cast

from ratewindow import conf
from ratewindow.counting.counters import counters
from ratewindow.exceptions import RateLimited
from ratewindow.identity import original, parse_identity
from ratewindow.identity.custom_keys import Key
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.types import Decision
from ratewindow.request import decide, late_charges, refusal, visit
from ratewindow.request.decide import Steps, arun, run
from ratewindow.request.prepare import Who
from ratewindow.request.questions import checks_of, counted, is_request, loaded, matched, question_of
from ratewindow.rulebook import current
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules import code_rates
from ratewindow.rules.code_rates import GivenRate, Rate
from ratewindow.rules.rate_options import CallOptions
from ratewindow.rules.rule import Rule, check_name
from ratewindow.store import outage


def hit(
    rule: str,
    who: Who,
    cost: int = 1,
    force: bool = False,
    raise_exception: bool = False,
    rate: Rate | None = None,
    key: Key | None = None,
    **options: Unpack[CallOptions],
) -> Decision:
    """Allow and charge `cost` units, or refuse and charge nothing.

    `force` allows whatever stands against it. With `raise_exception` a refusal is raised as `RateLimited`,
    which the middleware answers. `rate` is this call's own limit on the count of that name, until a rule of that name is
    enforced or switched off: text such as ``"5/h"``, or a function of `who`. `key` says what identifies a request. `options`
    are those of the decorator except `count_when`, `hold` and `forgive`. What is not given is taken from the
    `ratewindow.limit`, or the decorator, of that name. ValueError names a bad rate, key or option.
    """
    book, rules = _find(rule, who, code_rates.of_call(rule, rate, key, options))
    decision = _keep(who, decide.decide(question_of(book, rules, who, cost, force), "force" if force else "hit"))
    if not decision.allowed and is_request(who):
        refusal.announce(original(who), decision)
    return _admitted(decision, raise_exception)


def peek(
    rule: str, who: Who, cost: int = 1, rate: Rate | None = None, key: Key | None = None, **options: Unpack[CallOptions]
) -> Decision:
    """What `hit` would decide; charges nothing, locks nobody out, and is not counted in reports."""
    return run(_peek(rule, who, cost, code_rates.of_call(rule, rate, key, options)))


def refund(
    rule: str, who: Who, cost: int = 1, rate: Rate | None = None, key: Key | None = None, **options: Unpack[CallOptions]
) -> None:
    """Refund units: the oldest that count, never more than were charged. While Redis is unavailable nothing is refunded."""
    run(_refund(rule, who, cost, code_rates.of_call(rule, rate, key, options)))


def reset(rule: str, who: Who, rate: Rate | None = None, key: Key | None = None, **options: Unpack[CallOptions]) -> None:
    """Remove what the rule counted for this client, and a lock. Other processes may refuse for a second more.

    Raises RedisError or OSError while Redis is unavailable: whoever releases a client must know that it was not done.
    """
    run(_reset(rule, who, code_rates.of_call(rule, rate, key, options)))


def acquire(
    rule: str,
    who: Who,
    cost: int = 1,
    *,
    timeout: str | timedelta,
    rate: Rate | None = None,
    key: Key | None = None,
    **options: Unpack[CallOptions],
) -> Decision:
    """`hit`, waiting for its turn, but no longer than `timeout`, such as ``"5s"``: refused if its turn is later.

    Only the last decision is shown by the request and counted in reports.
    """
    return run(_acquire(rule, who, cost, timeout, code_rates.of_call(rule, rate, key, options)))


async def ahit(
    rule: str,
    who: Who,
    cost: int = 1,
    force: bool = False,
    raise_exception: bool = False,
    rate: Rate | None = None,
    key: Key | None = None,
    **options: Unpack[CallOptions],
) -> Decision:
    """`hit`, awaited."""
    book, rules = await _afind(rule, who, code_rates.of_call(rule, rate, key, options))
    decision = _keep(who, await decide.adecide(question_of(book, rules, who, cost, force), "force" if force else "hit"))
    if not decision.allowed and is_request(who):
        await refusal.aannounce(original(who), decision)
    return _admitted(decision, raise_exception)


async def apeek(
    rule: str, who: Who, cost: int = 1, rate: Rate | None = None, key: Key | None = None, **options: Unpack[CallOptions]
) -> Decision:
    """`peek`, awaited."""
    return await arun(_peek(rule, who, cost, code_rates.of_call(rule, rate, key, options)))


async def arefund(
    rule: str, who: Who, cost: int = 1, rate: Rate | None = None, key: Key | None = None, **options: Unpack[CallOptions]
) -> None:
    """`refund`, awaited."""
    await arun(_refund(rule, who, cost, code_rates.of_call(rule, rate, key, options)))


async def areset(rule: str, who: Who, rate: Rate | None = None, key: Key | None = None, **options: Unpack[CallOptions]) -> None:
    """`reset`, awaited."""
    await arun(_reset(rule, who, code_rates.of_call(rule, rate, key, options)))


async def aacquire(
    rule: str,
    who: Who,
    cost: int = 1,
    *,
    timeout: str | timedelta,  # noqa: ASYNC109  as `acquire`
    rate: Rate | None = None,
    key: Key | None = None,
    **options: Unpack[CallOptions],
) -> Decision:
    """`acquire`, awaited."""
    return await arun(_acquire(rule, who, cost, timeout, code_rates.of_call(rule, rate, key, options)))


def _peek(name: str, who: Who, cost: int, given: GivenRate | None) -> Steps[Decision]:
    book, rules = yield _find, _afind, name, who, given
    return _of_the_rule((yield decide.decide, decide.adecide, question_of(book, rules, who, cost), "peek"))


def _refund(name: str, who: Who, cost: int, given: GivenRate | None) -> Steps[None]:
    book, rules = yield _find, _afind, name, who, given
    checks = counted(book, rules, who, cost).checks
    if checks:
        yield from late_charges.refund([(check, [None] * len(check.windows)) for check in checks], matched(who))


def _reset(name: str, who: Who, given: GivenRate | None) -> Steps[None]:
    book, rules = yield _find, _afind, name, who, given
    if keys := _states(book, rules, who):
        yield late_charges.on_store, late_charges.on_astore, methodcaller("reset", keys)
        outage.refusals.forget()


def _acquire(name: str, who: Who, cost: int, timeout: str | timedelta, given: GivenRate | None) -> Steps[Decision]:
    deadline_s = time.monotonic() + parse_duration(timeout) / 1000
    while True:
        book, rules = yield _find, _afind, name, who, given
        decision: Decision = yield decide.decide, decide.adecide, question_of(book, rules, who, cost), "hit"
        wait_s = decision.retry_after
        if decision.allowed or wait_s is None or time.monotonic() + wait_s > deadline_s:
            decision = _keep(who, decision)
            if not decision.allowed and is_request(who):
                yield refusal.announce, refusal.aannounce, original(who), decision
            return decision
        yield time.sleep, asyncio.sleep, wait_s


def _find(name: str, who: Who, given: GivenRate | None) -> tuple[Rulebook, Sequence[Rule]]:
    """The rules in force, and those of that name."""
    if given is not None and given.is_async:
        raise TypeError(f"the rate of {name} is given by an async function: await ahit(), or give a plain function")
    book = current.rulebook()
    code = None if book.alone else code_rates.rule(name) if given is None else given.rule(name, who)
    return book, _rules(book, name, code)


async def _afind(name: str, who: Who, given: GivenRate | None) -> tuple[Rulebook, Sequence[Rule]]:
    """`_find`, once what the request's identity is made of has been fetched from the database."""
    book = await current.arulebook()
    code = None if book.alone else code_rates.rule(name) if given is None else await given.arule(name, who)
    return book, await loaded(book, _rules(book, name, code), who)


def _rules(book: Rulebook, name: str, code: Rule | None) -> Sequence[Rule]:
    """The rules of that name, as at a decorated view: the one that decides, and perhaps one in shadow beside it. They do not
    wait for an answer: code that charges them by name knows what happened."""
    if name not in book.by_name:
        check_name(name)
    if not conf.current().enabled:
        return ()
    row = book.by_name.get(name)
    rules = book.of_name(name, code, warn=row is None and code is None and not code_rates.rated(name))
    if code is None and row is not None and row.mode == "shadow" and not book.alone and code_rates.enforces(name):
        rules = [rule.beside for rule in rules]  # beside a rate by a function, which is known to its view alone
    return [rule if rule.count_when is None else rule.unconditional for rule in rules]


def _keep(who: Who, decision: Decision) -> Decision:
    """Hand the decision to the guard around the request, which writes its headers and counts it; without one, count it here."""
    if is_request(who):
        known = visit.of(request := original(who))
        if known.is_open:
            known.replace(decision)
        else:
            counters.record(decision.parts, conf.current().stats, request)
    else:  # the report has the identity from the check, unless a block or an outage has refused it
        about = parse_identity(cast("str | tuple[str, ...]", who)) if decision.reason else None
        counters.record(decision.parts, conf.current().stats, about)
    return _of_the_rule(decision)


def _admitted(decision: Decision, raise_exception: bool) -> Decision:
    if raise_exception and not decision.allowed:
        raise RateLimited(decision)
    return decision


def _of_the_rule(decision: Decision) -> Decision:
    """The decision of the rule that decides: that of a request does not show a rule in shadow. Nobody is answered by one that
    stands beside another."""
    own = [part for part in decision.parts if part.made_by is None or not part.made_by.is_beside]
    return own[0] if len(own) == 1 else decision


def _states(book: Rulebook, rules: Sequence[Rule], who: Who) -> list[str]:
    """Where the rules count this client, by their own limits, by those of code and by another rate, and where they lock it
    out."""
    rows = book.by_name
    own = [rule.with_windows(rows[rule.name].windows) for rule in rules if rule.name in rows]
    checks = [*checks_of(who, own, 0).checks, *checks_of(who, rules, 0).checks, *counted(book, rules, who, 0).checks]
    return list(dict.fromkeys(key for check in checks for key in (*check.keys, *filter(None, [check.lock]))))
