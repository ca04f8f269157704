"""How a check tells what it has found: an id, what is wrong, what to do, and where that is explained."""

from django.core import checks

from ratewindow.conf.docs import page

TAG = "ratewindow"
PAGE = page("developers/checks.md")

Told = list[checks.CheckMessage]


def error(number: int, message: str, hint: str = "") -> checks.CheckMessage:
    """Something that cannot be right."""
    return checks.Error(message, hint=f"{hint} See {PAGE}#e{number:03}.".strip(), id=f"ratewindow.E{number:03}")


def warning(number: int, message: str, hint: str) -> checks.CheckMessage:
    """Something that limits less, or other clients, than was probably meant."""
    return checks.Warning(message, hint=f"{hint} See {PAGE}#w{number:03}.", id=f"ratewindow.W{number:03}")
