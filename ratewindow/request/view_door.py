"""The door at a decorated view: the rule that it names, or the rate in code; awaited where functions of the site's are async."""

from collections.abc import Callable, Iterable
from typing import Any

from django.http import HttpRequest

from ratewindow.conf import site_functions
from ratewindow.request.doors import Awaited
from ratewindow.request.prepare import Cost
from ratewindow.rulebook.current import Rulebook
from ratewindow.rules.code_rates import Given
from ratewindow.rules.rule import Rule

RateOf = Callable[[str, HttpRequest], Rule | None]  # the rate in code as a rule of that name


class ViewDoor:
    """The door at a view for the requests whose rate, key and cost are known without waiting."""

    at_view = True

    def __init__(self, name: str, rate_of: RateOf, cost: Cost, block: bool, warn: bool) -> None:
        self.name, self.cost, self.block, self._rate_of, self._warn = name, cost, block, rate_of, warn

    @property
    def awaited(self) -> Awaited | None:
        return None

    def rules(self, book: Rulebook, request: HttpRequest) -> Iterable[Rule]:
        try:
            method = request.method
        except AttributeError:
            problem = f"rule {self.name} got an object of class {type(request).__name__} instead of a request"
            raise TypeError(f"{problem}: on methods of a class use @method_decorator(ratelimit(...))") from None
        code = None if book.alone else self._rate_of(self.name, request)
        return book.named(self.name, code, method, warn=self._warn)


class AwaitingDoor(ViewDoor):
    """The door at an async view whose rate, key or cost are async `functions`, or whose rate may turn out to be. At a sync view
    it raises for `functions`, which Django's ``method_decorator`` does not let the decorator see at import."""

    def __init__(self, name: str, given: Given, cost: Cost, block: bool, warn: bool, functions: str) -> None:
        super().__init__(name, given.rule, cost, block, warn)
        self._given, self._functions = given, functions

    @property
    def awaited(self) -> Awaited | None:
        return self._of_request if self._functions or self._given.may_be_async else None

    def rules(self, book: Rulebook, request: HttpRequest) -> Iterable[Rule]:
        if self._functions:
            raise TypeError(must_be_async(self._functions, f"the view with rule {self.name}"))
        return super().rules(book, request)

    async def _of_request(self, book: Rulebook, request: HttpRequest) -> ViewDoor:
        """The door for one request. A cost is not asked for if no rule holds."""
        code = None if book.alone else await self._given.arule(self.name, request)
        door = ViewDoor(self.name, lambda name, request: code, self.cost, self.block, self._warn)
        if site_functions.is_async(self.cost) and [*door.rules(book, request)]:
            door.cost = await _answer(self.cost, request)
        return door


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
