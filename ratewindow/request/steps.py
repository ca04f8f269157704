"""Steps written once for threads and for event loops.

A generator yields each call that may wait, as a function, its awaited form and their arguments, and is sent the result.
Only what every request or hit pays for is written out twice, in `guard`, `decide` and `api.hit`: a generator costs 1.5 µs.
"""

from collections.abc import Generator
from typing import Any, TypeVar

Result = TypeVar("Result")
Steps = Generator[tuple[Any, ...], Any, Result]


def run(steps: Steps[Result]) -> Result:
    """Take the steps in this thread."""
    try:
        call, _, *arguments = next(steps)
        while True:
            try:
                result = call(*arguments)
            except BaseException as error:
                call, _, *arguments = steps.throw(error)
            else:
                call, _, *arguments = steps.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]


async def arun(steps: Steps[Result]) -> Result:
    """Take the steps on the running event loop."""
    try:
        _, call, *arguments = next(steps)
        while True:
            try:
                result = await call(*arguments)
            except BaseException as error:
                _, call, *arguments = steps.throw(error)
            else:
                _, call, *arguments = steps.send(result)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]
