"""Failures of the site's own functions, such as a cost or a key: logged and counted instead of raised.

The caller catches the exception, rejects an invalid value and calls `failed`. The log has a line of a function that fails at
most every ten minutes, and the report counts every failure, as ``function:cost``.
"""

import logging
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.db import DatabaseError
from django.http import HttpRequest
from redis.exceptions import RedisError

from ratewindow.conf.news import LONGEST, News
from ratewindow.limiter.problem import Problem

logger = logging.getLogger("ratewindow")

listeners: list[Callable[[str, str], None]] = []  # called with the rule's name and the cause whenever a function fails
failing = News()  # what fails where
_unreported: ContextVar[bool] = ContextVar("ratewindow_unreported", default=False)


@contextmanager
def unreported() -> Iterator[None]:
    """Failures meanwhile are neither logged nor counted: the functions are asked about a request that nobody has sent, and may
    fail for what that lacks."""
    token = _unreported.set(True)
    try:
        yield
    finally:
        _unreported.reset(token)


@contextmanager
def explained(request: HttpRequest) -> Iterator[None]:
    """Raise ValueError for what the site's own code raises for this request, such as `get_throttles` of a view."""
    try:
        yield
    except (DatabaseError, RedisError, OSError, ValueError):
        raise
    except Exception as error:
        raise Problem(
            "the site's own code fails for this request: {problem}",
            problem=f"{request.method} {request.path}: {type(error).__name__}: {error}",
        ) from error


def is_async(function: Any) -> bool:
    """Whether a call of this function or callable object must be awaited."""
    return iscoroutinefunction(function) or iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def failed(what: str, where: str, error: BaseException, holds: str, rules: Iterable[str] = ()) -> None:
    """Log that the function for `what` (``cost``, ``rate``, ``key``) of `where` failed, and count it for each of `rules`.

    `holds` says what happens instead.
    """
    if _unreported.get():
        return
    for rule in dict.fromkeys(rules):
        count(what, rule)
    if failing.is_new((what, where)):
        logger.error(
            "ratewindow: the %s function of %s failed, %s (logged every ten minutes): %s",
            what,
            where,
            holds,
            _in_a_line(error),
        )


def count(what: str, rule: str) -> None:
    """Count a failure of the function for `what` for one more rule."""
    for listener in () if _unreported.get() else listeners:
        listener(rule, f"function:{what}")


def _in_a_line(error: BaseException) -> str:
    """The error and where it was raised, as short ASCII. No traceback, since that ends in the error's text as it is: it may
    contain what a client sent, and a line break in it would forge a log line.
    """
    message = ascii(f"{type(error).__name__}: {error}"[:LONGEST])[1:-1]
    frames = traceback.extract_tb(error.__traceback__)
    return f"{message} at {frames[-1].filename}:{frames[-1].lineno}" if frames else message
