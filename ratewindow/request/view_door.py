"""The door at a decorated view: the rule that it names, or the rate in code; awaited where functions of the site's are async."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from django.http import HttpRequest

from ratewindow.conf import site_functions
from ratewindow.request.doors import Awaited
from ratewindow.request.prepare import Cost
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.rate_argument import GivenRate
from ratewindow.rules.rule import Rule


class Given(Protocol):
    """The rate in code, or none."""

    def rule(self, name: str, request: HttpRequest) -> Rule | None:
        """The rate as a rule of that name."""


class ViewDoor:
    """The door at a view for the requests whose rate, key and cost are known without waiting."""

    at_view = True
    awaited: Awaited | None = None

    def __init__(self, name: str, given: Given, cost: Cost, block: bool, warn: bool) -> None:
        self.name, self.cost, self.block, self._given, self._warn = name, cost, block, given, warn

    def rules(self, book: Rulebook, request: HttpRequest) -> Iterable[Rule]:
        try:
            method = request.method
        except AttributeError:
            problem = f"rule {self.name} got an object of class {type(request).__name__} instead of a request"
            raise TypeError(f"{problem}: on methods of a class use @method_decorator(ratelimit(...))") from None
        code = None if book.alone else self._given.rule(self.name, request)
        return book.named(self.name, code, method, warn=self._warn)


class AwaitingDoor(ViewDoor):
    """The door at an async view whose rate, key or cost are async `functions`. At a sync view it raises, which Django's
    ``method_decorator`` does not let the decorator see at import."""

    def __init__(self, name: str, given: GivenRate, cost: Cost, block: bool, warn: bool, functions: str) -> None:
        super().__init__(name, given, cost, block, warn)
        self._code, self._functions, self.awaited = given, functions, self._of_request

    def rules(self, book: Rulebook, request: HttpRequest) -> Iterable[Rule]:
        if self._functions:
            raise TypeError(must_be_async(self._functions, f"the view with rule {self.name}"))
        return super().rules(book, request)

    async def _of_request(self, book: Rulebook, request: HttpRequest) -> ViewDoor:
        """The door for one request. A cost is not asked for if no rule holds."""
        code = None if book.alone else await self._code.arule(self.name, request)
        door = ViewDoor(self.name, _Answered(code), self.cost, self.block, self._warn)
        if site_functions.is_async(self.cost) and [*door.rules(book, request)]:
            door.cost = await _answer(self.cost, request)
        return door


class _Answered:
    """The rate that an async function has given."""

    def __init__(self, rule: Rule | None) -> None:
        self._rule = rule

    def rule(self, name: str, request: HttpRequest) -> Rule | None:
        return self._rule


async def _answer(cost: Any, request: HttpRequest) -> Callable[[HttpRequest], int]:
    """A function that returns or raises what the async one has."""
    try:
        answer = await cost(request)
    except Exception as error:
        raised = error

        def fail(request: HttpRequest) -> int:
            raise raised

        return fail
    return lambda request: answer


def must_be_async(functions: str, view: str) -> str:
    """What is wrong with async functions at a sync view."""
    return f"the {functions} is given by an async function, and {view} is not async: give a plain function"
