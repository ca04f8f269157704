"""What functions of the site's answer about a client, each asked once for a request: limits from code, conditions of overrides.

A function is asked about the request, or about the identity if that is the name of its argument. On an event loop it is asked
before anything is decided, and awaited; in a thread, if it is not async. One that fails is logged, and has answered None.
"""

import inspect
import time
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Any, TypeVar

from asgiref.sync import async_to_sync, sync_to_async
from django.http import HttpRequest

from ratewindow.conf import site_functions
from ratewindow.identity.custom_keys import arguments_of, place_of
from ratewindow.identity.request_attributes import load_user
from ratewindow.identity.typed_values import split
from ratewindow.limiter.durations import parse_duration
from ratewindow.limiter.keys import MOST_REMEMBERED
from ratewindow.limiter.problem import Problem

Who = HttpRequest | str | tuple[str, ...]
Function = TypeVar("Function", bound=Callable[[Any], Any])

MOST_NAME = 64  # characters
MOST_CACHED = 10_000  # answers of one function in one process


class SiteFunction:
    """A function of the site's that staff choose by its name. `what` it is for, such as ``limits``, and what `holds` where it
    fails, are for the log. With `cache`, this process remembers for so long what it answers about an identity. One that
    `is_quick` asks no database. ValueError names what is wrong."""

    def __init__(
        self,
        what: str,
        name: str,
        function: Callable[[Any], Any],
        holds: str,
        cache: str | timedelta | None = None,
        is_quick: bool = False,
    ) -> None:
        if not callable(function) or arguments_of(function) != 1:
            raise ValueError(f"{what} {name!r}: register a function of one argument, the request or the identity")
        self.what, self.name, self.place = what, name, place_of(function)
        self._function, self._holds, self._is_quick, self._is_async = function, holds, is_quick, site_functions.is_async(function)
        self.argument = next(iter(inspect.signature(function).parameters))
        self._cached_s = 0.0 if cache is None else parse_duration(cache) / 1000
        self._cached: dict[Any, tuple[float, Any]] = {}  # by identity: until when, and what
        if self._cached_s and self.argument != "identity":
            raise ValueError(
                f"{what} {name!r}: what is cached depends on the identity alone: name the function's argument identity"
            )

    def answer(self, who: Who, identity: str = "", rules: Iterable[str] = ()) -> Any:
        """What it says about this request or, where there is none, about the identity, for the rules of these names."""
        about = self._about(who, identity)
        answers, key = self._known(who, about)
        if about is not None and key not in answers:
            function = async_to_sync(self._function) if self._is_async else self._function
            began_s = time.monotonic()
            try:
                answers[key] = self._cache(key, function(about), began_s)
            except Exception as error:
                self.fail(error, rules)
                answers[key] = None
        return answers.get(key)

    async def aanswer(self, who: Who, identity: str = "", rules: Iterable[str] = ()) -> Any:
        """`answer`, which need not be awaited any more in this request."""
        about = self._about(who, identity)
        answers, key = self._known(who, about)
        if about is not None and key not in answers:
            began_s = time.monotonic()
            try:
                if not isinstance(who, str | tuple):
                    await load_user(who)
                answers[key] = self._cache(key, await self._awaited(about), began_s)
            except Exception as error:
                self.fail(error, rules)
                answers[key] = None
        return answers.get(key)

    async def _awaited(self, about: Any) -> Any:
        if self._is_quick:
            return self._function(about)
        return await (self._function if self._is_async else sync_to_async(self._function))(about)

    def fail(self, error: Exception, rules: Iterable[str] = ()) -> None:
        """Log that it has failed, or that its answer is wrong, and count that for these rules."""
        site_functions.failed(self.what, self.name, error, self._holds, rules)

    def _about(self, who: Who, identity: str) -> Any:
        """What it is asked about; None if that is a request, and there is none."""
        if self.argument == "identity":
            parts = split(identity)
            return parts[0] if len(parts) == 1 else parts
        return None if self.argument == "request" and isinstance(who, str | tuple) else who

    def _known(self, who: Who, about: Any) -> tuple[dict[Any, Any], Any]:
        """What it has answered in this request, or lately, and under which key: no request refers to itself, and so none waits
        for the garbage collector."""
        is_identity = isinstance(who, str | tuple)
        answers: dict[Any, Any] = {} if is_identity else vars(who).setdefault("_ratewindow_answers", {}).setdefault(self, {})
        key = "" if about is who and not is_identity else about
        until_s, answer = self._cached.get(key, (0.0, None)) if self._cached else (0.0, None)
        if until_s > time.monotonic():
            answers.setdefault(key, answer)
        return answers, key

    def _cache(self, key: Any, answer: Any, began_s: float) -> Any:
        """From when the function began, since it may have looked then; not of an identity that was sent to fill the memory."""
        if self._cached_s and len(str(key)) <= MOST_REMEMBERED:
            if len(self._cached) >= MOST_CACHED:
                self._cached.clear()
            self._cached[key] = began_s + self._cached_s, answer
        return answer


class SiteFunctions(dict[str, SiteFunction]):
    """The functions that a site registers for one use, by name."""

    def __init__(self, what: str, holds: str, of_requests_alone: bool = False) -> None:
        super().__init__()
        self._what, self._holds, self._of_requests_alone = what, holds, of_requests_alone

    def decorator(self, name: str, cache: str | timedelta | None = None) -> Callable[[Function], Function]:
        """Registers a function under this name. Raises ValueError for what is no name, such as the function itself where the
        parentheses are missing, and for a name that belongs to another function."""
        if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > MOST_NAME:
            raise ValueError(
                f'{name!r} is no name: write for example @ratewindow.{self._what}("by plan"), of {MOST_NAME} characters'
            )

        def register(function: Function) -> Function:
            made = SiteFunction(self._what, name, function, self._holds, cache)
            if self._of_requests_alone and made.argument == "identity":
                raise ValueError(f"{self._what} {name!r} is asked about requests alone: name its function's argument request")
            if (known := self.get(name)) is not None and known.place != made.place:
                raise ValueError(f"{self._what} {name!r} belongs to {known.place}: choose another name")
            self[name] = made
            return function

        return register

    def named(self, name: str) -> SiteFunction:
        """The function of that name. Raises ValueError if no code registers it."""
        if not self:
            raise Problem(
                "no code registers {name!r}, nor any other: a developer can register it in a module ratekeys", name=name
            )
        if name not in self:
            raise Problem("no code registers {name!r}: choose from {known}", name=name, known=", ".join(sorted(self)))
        return self[name]
