"""What is wrong with a value, in the language of whoever reads it, and texts that stay in English."""

from contextlib import AbstractContextManager

from django.utils.translation import gettext, override

from ratewindow.limiter.problem import Problem


def translated(error: Exception) -> str:
    """The text of a `Problem` in the active language; of any other error, its own."""
    if not isinstance(error, Problem):
        return str(error)
    values = {name: translated(value) if isinstance(value, Problem) else value for name, value in error.values.items()}
    return gettext(error.message).format(**values)


def in_english() -> AbstractContextManager[None]:
    """Texts stay as the source has them: for logs and records, which nobody reads in a language of their own."""
    return override(None)
