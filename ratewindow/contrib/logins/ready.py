"""The ready rules of logins, and of the steps around them: made together, and shown as one."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from ratewindow.contrib.logins.targets import CHANGES, CODES, EVERY, KNOWN, RESETS, SIGN_UPS, STRANGERS
from ratewindow.rules.rule import LOGIN_FAILED
from ratewindow.start.presets import Kind, Part, Target

_OF_STRANGERS = {"applies_to": STRANGERS}
LOGINS = (
    Part(
        "address",
        "ip",
        "20/h",
        _("Stops one address from trying many names. People who share an address, such as an office, share this limit."),
        _OF_STRANGERS,
    ),
    Part(
        "name",
        "login",
        "5/m; 10/h; 50/d",
        _("Stops any number of addresses from guessing the password of one name."),
        _OF_STRANGERS,
    ),
    Part(
        "device",
        "login_device",
        "10/15m; 100/4w",
        _(
            "Lets people in at devices on which they have logged in before, whatever strangers try under their names. A device "
            "that has used this up is a stranger."
        ),
        {"applies_to": KNOWN, "on_missing": "allow"},
    ),
    Part(
        "network",
        "network",
        "200/h",
        _("Stops a network, the first 24 bits of an IPv4 address or 48 of an IPv6 address, from guessing by many addresses."),
        _OF_STRANGERS,
    ),
)


def _anywhere(applies_to: str) -> Any:
    return lambda known: [Target(applies_to, "")]


def _steps(name: str, title: Any, why: Any, applies_to: str, *parts: Part, rate: str = "", key: str = "ip") -> Kind:
    return Kind(name, title, why, rate, _anywhere(applies_to), {"on_error": "local", "key": key}, parts)


KINDS = (
    Kind(
        "login",
        _("Logins"),
        _(
            "Slow down people who guess passwords, whatever the way in. Only failed logins count. Use all four: each stops what "
            "the others let through."
        ),
        "",
        _anywhere(EVERY),
        {"count_when": LOGIN_FAILED, "on_error": "local"},
        LOGINS,
    ),
    _steps(
        "password-reset",
        _("Password reset"),
        _("Keeps others from filling a person's mailbox with mail of yours."),
        RESETS,
        Part("address", "ip", "5/h; 20/d", _("Stops one address from asking for many mails.")),
        Part("mailbox", "body:email", "3/h; 10/d", _("Stops many addresses from filling one mailbox."), {"normalise": True}),
    ),
    _steps(
        "sign-up",
        _("Sign-up"),
        _("Slows down programs that register accounts."),
        SIGN_UPS,
        rate="10/h; 30/d",
    ),
    _steps(
        "one-time-code",
        _("One-time codes"),
        _("Keeps others from trying every code, and the password that all visitors of a page share."),
        CODES,
        Part("address", "ip", "5/m; 20/h", _("Keeps one address from trying every code.")),
        Part("network", "network", "100/h", _("Keeps a network, whose addresses may be many, from trying every code.")),
    ),
    _steps(
        "password-again",
        _("Passwords typed again"),
        _("Keeps whoever has stolen a session from guessing the password, to change it."),
        CHANGES,
        rate="10/h",
        key="user",
    ),
)
