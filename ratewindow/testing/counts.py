"""Rules for one test, fresh counts for each test, and a clock that can be moved."""

import difflib
import inspect
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar, Self
from unittest import TestCase

from django.conf import settings
from django.test import override_settings
from django.test.runner import DiscoverRunner
from django.test.utils import TestContextDecorator, iter_test_cases  # type: ignore[attr-defined]  # which the stubs lack

from ratewindow import conf
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.rates import parse_rates
from ratewindow.models import RateRule
from ratewindow.rulebook import current, kill_switch, reading
from ratewindow.rules import code_rates, rule
from ratewindow.store import stores


def Rule(  # noqa: N802  looks like a class where it is an argument of `override_rules`
    name: str,
    rate: str,
    *,
    path: str | None = None,
    prefix: str | None = None,
    regex: str | None = None,
    route: str | None = None,
    **fields: Any,
) -> rule.Rule:
    """An enforced rule for a test, with the arguments of `RateRule.objects.define`: ``Rule("api", "2/m", prefix="/api/",
    key="user")``. Raises ValueError for an invalid name, rate or field."""
    windows = RateRule.objects.checked(name, rate, {"path": path, "prefix": prefix, "regex": regex, "route": route}, fields)
    return reading.freeze(RateRule(name=name, **{"mode": "enforce", **fields}), windows)


class fresh_counts(TestContextDecorator):  # noqa: N801  named as Django's override_settings is
    """The site's rules with empty counts, kept in the memory of this process, and limits switched on.

    ``with fresh_counts() as counts:`` and then ``counts.travel("61s")``; also a decorator of functions, coroutine functions
    and test classes, for each of whose tests the counts are empty. The pytest fixture of the same name does the same.
    """

    _settings: ClassVar[dict[str, Any]] = {"REDIS": conf.MEMORY}

    def travel(self, duration: str | timedelta) -> None:
        """Move the limiter's clock forward; all other clocks keep their time."""
        stores.travel(parse_duration(duration))

    def __enter__(self) -> Self:  # type: ignore[override]  # the stubs know no context
        return self.enable()

    def enable(self) -> Self:
        self._undo_settings = override_settings(**{conf.SETTING: {**getattr(settings, conf.SETTING, {}), **self._settings}})
        self._undo_settings.enable()  # also empties the counts in memory
        self._switch = kill_switch.turned
        kill_switch.reset()
        return self

    def disable(self) -> None:
        kill_switch.reset()
        kill_switch.learn(self._switch)
        self._undo_settings.disable()

    def decorate_class(self, cls: Any) -> Any:
        """Decorate a test case, or each test of a class for pytest."""
        if issubclass(cls, TestCase):
            return super().decorate_class(cls)
        names = [name for name in dir(cls) if name.startswith("test") and inspect.isfunction(getattr(cls, name))]
        if not names:
            raise TypeError(f"{cls.__qualname__} has no tests: decorate a function, or a class whose tests begin with test")
        for name in names:
            setattr(cls, name, self(getattr(cls, name)))
        return cls


class FreshCountsRunner(DiscoverRunner):
    """Django's test runner with `fresh_counts` for each test: ``TEST_RUNNER = "ratewindow.testing.FreshCountsRunner"``.

    Between tests, too, and in the system checks, nothing reads or writes the site's Redis.
    """

    def setup_test_environment(self, **kwargs: Any) -> None:
        super().setup_test_environment(**kwargs)
        self._counts = fresh_counts().enable()

    def teardown_test_environment(self, **kwargs: Any) -> None:
        self._counts.disable()
        super().teardown_test_environment(**kwargs)

    def build_suite(self, *args: Any, **kwargs: Any) -> Any:
        suite = super().build_suite(*args, **kwargs)
        for case in {type(test) for test in iter_test_cases(suite)}:
            fresh_counts()(case)
        return suite


class override_rules(fresh_counts):  # noqa: N801
    """Enforce these rules and no others, with `fresh_counts`; without arguments, nobody is limited.

    ``with override_rules({"api.minute": "5/m"}, login="2/m") as rules:`` and then ``rules.travel("61s")``. A name with a
    rate is a rule of the site, in a row or in code, and keeps its path, its key and all other fields;
    ``override_rules(Rule("api", "2/m", prefix="/api/"))`` adds a rule for the test. Also a decorator, as `fresh_counts`.
    Raises ValueError for an invalid name or rate, and, once the rules are in force, for a name that the site does not have.
    """

    _settings: ClassVar[dict[str, Any]] = {**fresh_counts._settings, "ENABLED": True}

    def __init__(self, *given: Mapping[str, str] | rule.Rule, **more: str) -> None:
        super().__init__()
        self._rates: dict[str, str] = {}
        self._rules: list[rule.Rule] = []
        for each in (*given, more):
            if isinstance(each, rule.Rule):
                self._rules.append(each)
            elif isinstance(each, Mapping):
                self._rates |= each
            else:  # a rate or, without parentheses, the decorated function
                raise TypeError(
                    f"{each!r} is not a rule: write override_rules(login='5/m') or override_rules({{'api.minute': '5/m'}})"
                )
        for name, rate in self._rates.items():
            rule.check_name(name)
            parse_rates(rate)

    def enable(self) -> Self:
        rules = [*self._rules, *(_of_site(name, rate) for name, rate in self._rates.items())]
        super().enable()
        self._outer = current.replace(current.Rulebook(rules, alone=True))
        return self

    def disable(self) -> None:
        current.replace(self._outer)
        super().disable()


def _of_site(name: str, rate: str) -> rule.Rule:
    known = current.rulebook().by_name.get(name) or current.of_site().by_name.get(name) or _in_code(name) or _in_row(name)
    if known is None:
        near = difflib.get_close_matches(name, {*current.of_site().by_name, *code_rates.uses()}, n=1)
        remedy = f"did you mean {near[0]!r}?" if near else f"For a rule of the test write Rule({name!r}, {rate!r}, path=...)."
        raise ValueError(f"{name!r} is not a rule of this site: no row has it, and no view names it. {remedy}")
    return replace(known, windows=parse_rates(rate), mode="enforce", enforce_percent=100, limits_from="")


def _in_code(name: str) -> rule.Rule | None:
    """The rule that a view names or defines; imports the URLconf if no view with this name is known."""
    if name not in code_rates.uses() and getattr(settings, "ROOT_URLCONF", None):
        code_rates.load_names()
    use = min(code_rates.uses().get(name, ()), key=lambda use: (use.rate is None, use.place), default=None)
    if use is None:
        return None
    return code_rates.rule(name) or code_rates.rule_of(name, "", use.key or "ip", use.methods, use.normalise, use.options)


def _in_row(name: str) -> rule.Rule | None:
    """The rule in a row that the test has saved in its transaction, which is never committed."""
    with suppress(Exception):  # the test may not use the database, or runs on an event loop
        return next((found for row, found in reading.readings() if row.name == name and isinstance(found, rule.Rule)), None)
    return None
