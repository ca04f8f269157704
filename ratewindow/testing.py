"""For the tests of sites that use this: rules of the test's own, in memory, on a clock that can be moved."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from types import TracebackType
from typing import Any, TypeVar, cast

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.test import override_settings

from ratewindow import coderules, conf, rulebook, stores
from ratewindow.connection import redis_address
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.rates import parse_rates
from ratewindow.rule import Rule, check_name
from ratewindow.rulebook import Rulebook

Function = TypeVar("Function", bound=Callable[..., Any])


class override_rules:  # noqa: N801  named as Django's override_settings is
    """These rules and no others, all enforced; without any, nobody is limited.

    ``with override_rules({"api.minute": "5/m"}, login="2/m") as rules:`` and then ``rules.travel("61s")``.
    A name that is a rule, or has a rate in code, keeps where it applies and what tells clients apart; any
    other holds where code names it. Counting begins anew and in this process: neither Redis nor the database
    is asked. Also a decorator of functions and coroutine functions; of anything else TypeError says what to
    write. ValueError names a bad name or rate.
    """

    def __init__(self, rates: Mapping[str, str] | None = None, /, **more: str) -> None:
        given: Any = rates  # a bare rate or, without parentheses, the decorated function
        if given is not None and not isinstance(given, Mapping):
            remedy = "override_rules(login='5/m') or override_rules({'api.minute': '5/m'})"
            raise TypeError(f"{given!r} are no rules: write {remedy}")
        self._rates = {**(rates or {}), **more}
        for name, rate in self._rates.items():
            check_name(name)
            parse_rates(rate)

    def travel(self, duration: str | timedelta) -> None:
        """Move the limiter's clock forward, without waiting; the rest of the process keeps its time."""
        stores.travel(parse_duration(duration))

    def __enter__(self) -> "override_rules":
        held = rulebook.current()
        rules = [self._rule(held, name, rate) for name, rate in self._rates.items()]
        self._undo_settings = override_settings(
            **{conf.SETTING: {**getattr(settings, conf.SETTING, {}), "REDIS": redis_address.MEMORY, "ENABLED": True}}
        )
        self._undo_settings.enable()  # which also begins the counting in memory anew
        self._outer = rulebook.replace(Rulebook(rules, alone=True))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        rulebook.replace(self._outer)
        self._undo_settings.disable()

    def __call__(self, function: Function) -> Function:
        if isinstance(function, type) or inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function.__qualname__} is no function that returns: write `with override_rules(...):` inside of it"
            )
        if iscoroutinefunction(function):

            @functools.wraps(function)
            async def alimited(*args: Any, **kwargs: Any) -> Any:
                with type(self)(self._rates):
                    return await function(*args, **kwargs)

            return cast("Function", alimited)

        @functools.wraps(function)
        def limited(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self._rates):
                return function(*args, **kwargs)

        return cast("Function", limited)

    def _rule(self, held: Rulebook, name: str, rate: str) -> Rule:
        known = held.by_name.get(name) or coderules.rule(name) or Rule(name, ())
        return replace(known, windows=parse_rates(rate), mode="enforce", enforce_percent=100)
