"""What is wrong with a value, in the language of whoever reads it."""

from django.utils.translation import gettext

from ratewindow.limiter.problem import Problem


def translated(error: Exception) -> str:
    """The text of a `Problem` in the active language; of any other error, its own."""
    if not isinstance(error, Problem):
        return str(error)
    values = {name: translated(value) if isinstance(value, Problem) else value for name, value in error.values.items()}
    return gettext(error.message).format(**values)
