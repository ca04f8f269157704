"""What holds for one client, and how much of it is used: `usage`, for the page on which a customer reads its own limits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from django.utils.asyncio import async_unsafe

from ratewindow import conf
from ratewindow.identity import canonical, custom_keys, parse_identity, split, typed_values
from ratewindow.limiter.types import RuleDecision, WindowAnswer
from ratewindow.request import decide, questions
from ratewindow.request.prepare import Who
from ratewindow.rulebook import current
from ratewindow.rules import code_rates
from ratewindow.rules.rule import PLACES, Rule


@dataclass(frozen=True)
class Usage:
    """One limit of a rule, and how much of it a client has used. Times are seconds from now.

    Of a blocked client `limit` is 0, and `retry_after` says when the block ends. `used` and `remaining` are None while Redis does
    not answer.
    """

    rule: str
    window: str  # as a rate, such as 5/m or 1000/month; empty for a block
    limit: int
    used: int | None = None  # of a soft limit perhaps more than the limit
    remaining: int | None = None
    reset_after: float | None = None  # when `remaining` grows next; 0.0 if nothing is used
    retry_after: float | None = None  # when a request passes again; None if one would pass now, or never will
    soft: bool = False  # over it requests pass all the same


@async_unsafe("usage() asks Redis and perhaps the database: in async code write await ausage(...)")
def usage(who: Who) -> list[Usage]:
    """What holds now for the client of this request, or of this identity, in the order of the rules' names. It charges nothing.

    These are the enforced rules, wherever they apply, and rates in code that no function gives. Each counts the request by its
    key; of an identity such as ``"user:42"`` these are the rules with that key. A client that is exempt has none. ValueError
    names a bad identity.
    """
    return decide.run(_usage(who))


async def ausage(who: Who) -> list[Usage]:
    """`usage`, awaited."""
    return await decide.arun(_usage(who))


def _usage(who: Who) -> decide.Steps[list[Usage]]:
    book, rules = yield _holding, _aholding, who
    found: dict[Usage, None] = {}
    for rule in rules:
        decision = yield decide.decide, decide.adecide, questions.question_of(book, [rule], who, 1), "peek"
        found |= dict.fromkeys(each for part in decision.parts for each in _of(part))
    return list(found)


def _holding(who: Who) -> tuple[current.Rulebook, Sequence[Rule]]:
    book = current.rulebook()
    return book, list(_rules(book, who))


async def _aholding(who: Who) -> tuple[current.Rulebook, Sequence[Rule]]:
    book = await current.arulebook()
    return book, await questions.loaded(book, list(_rules(book, who)), who)


def _rules(book: current.Rulebook, who: Who) -> Iterator[Rule]:
    """The enforced rules that may count this client."""
    keys = None if questions.is_request(who) else _keys(parse_identity(cast("str | tuple[str, ...]", who)))
    in_code = () if book.alone else code_rates.load_names()
    for name in sorted({*book.by_name, *in_code}) if conf.current().enabled else ():
        for rule in book.of_name(name, None if book.alone else code_rates.rule(name), warn=False):
            if rule.mode == "enforce" and rule.applies_to in PLACES and (keys is None or _counts(rule, keys)):
                yield rule


def _keys(identity: str) -> list[str]:
    """The parts of the key that an identity has, without its scope."""
    typed = (typed_values.kind_and_name(part) for part in split(identity))
    return sorted(f"{kind}:{name}" if name else kind for kind, name, _ in typed if kind != custom_keys.SCOPE)


def _counts(rule: Rule, keys: list[str]) -> bool:
    parts = canonical(rule.key).split("+")
    return sorted(parts) == keys or (parts == ["user_or_ip"] and keys in (["user"], ["ip"]))


def _of(part: RuleDecision) -> Iterator[Usage]:
    if part.reason == "block" or part.mode == "shadow":
        if not part.allowed:
            yield Usage(part.rule, "", 0, retry_after=part.retry_after)
        return
    for answer in part.windows:
        yield _of_window(part, answer)
    for window in () if part.windows or part.made_by is None else part.made_by.windows:
        yield Usage(part.rule, window.text, window.limit, soft=part.mode == "soft")


def _of_window(part: RuleDecision, answer: WindowAnswer) -> Usage:
    is_locked, is_soft = part.reason == "penalty", part.mode == "soft"
    wait_s = part.retry_after if is_locked else answer.wait_ms / 1000 if answer.wait_ms > 0 else None
    return Usage(
        part.rule,
        answer.window.text,
        answer.window.at_once,
        answer.used,
        0 if is_locked else max(0, answer.remaining),
        max(answer.reset_ms / 1000, wait_s or 0),
        None if is_soft else wait_s,
        is_soft,
    )
