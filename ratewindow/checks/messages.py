"""Messages of the checks: an id, the problem, a remedy, and the page that explains it."""

from django.core import checks

from ratewindow.conf.docs import page

TAG = "ratewindow"
PAGE = page("developers/checks.md")

Messages = list[checks.CheckMessage]


def error(number: int, message: str, hint: str = "") -> checks.CheckMessage:
    """A setting, rate or rule that cannot work."""
    return checks.Error(message, hint=f"{hint} See {PAGE}#e{number:03}.".strip(), id=f"ratewindow.E{number:03}")


def warning(number: int, message: str, hint: str) -> checks.CheckMessage:
    """A setting, rate or rule that probably limits less, or other clients, than intended."""
    return checks.Warning(message, hint=f"{hint} See {PAGE}#w{number:03}.", id=f"ratewindow.W{number:03}")
