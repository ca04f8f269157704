"""What each setting says of a value that it does not take, which tells what it takes."""

from from_code.markdown import code, plain, table
from ratewindow.conf import _READERS

PAGES = ("developers/settings",)


class Another:
    """A value that no setting takes."""

    def __repr__(self) -> str:
        return "…"


def add(page: str) -> str:
    rows = [(code(key), plain(_refusal(key))) for key in _READERS]
    return f"{page}\n## What a setting says of another value\n\n{table(('key', 'error'), rows)}\n"


def _refusal(key: str) -> str:
    _, read = _READERS[key]
    try:
        read(Another())
    except ValueError as error:
        return f"{error}."
    raise AssertionError(f"{key} takes anything")
