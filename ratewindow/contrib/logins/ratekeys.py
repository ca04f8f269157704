"""The keys of logins: the name that is tried, the device that tries it, and its network."""

from django.http import HttpRequest

from ratewindow.contrib.logins.attempt import NAME_KEY, attempt_of
from ratewindow.counting.sheets import network_in
from ratewindow.identity import original
from ratewindow.identity.address import ip
from ratewindow.identity.custom_keys import ratekey


@ratekey(NAME_KEY, needs_user=False)
def login(request: HttpRequest) -> str | None:
    """The name that is tried, in one spelling; that of the account where it is an e-mail address of one."""
    attempt = attempt_of(request)
    return attempt.name if attempt is not None else None


@ratekey("login_device", needs_user=False)
def login_device(request: HttpRequest) -> str | None:
    """The known device that tries it, with the name."""
    attempt = attempt_of(request)
    return f"{attempt.name}/{attempt.counted_as}" if attempt is not None and attempt.counted_as else None


@ratekey("network", needs_user=False)
def network(request: HttpRequest) -> str | None:
    """The /24 or /48 that an address belongs to, as the report names it."""
    return network_in(ip(original(request))).removeprefix("ip:") or None
