"""What is known of a view, once it is looked at."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

T = TypeVar("T")


def remembered(function: Callable[..., T]) -> Callable[..., T]:
    """Remember what a function says of a view, unless that is an object without a hash."""
    cached = lru_cache(maxsize=1024)(function)

    @wraps(function)
    def remembering(view: Any, *more: str) -> T:
        try:
            return cached(view, *more)
        except TypeError:
            return function(view, *more)

    return remembering
