"""What rules of this room may apply to: logins, and the steps of an account around them.

It imports nothing that must wait for the apps: the first rules are read while they are made.
"""

from functools import partial

from django.http import HttpRequest
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from ratewindow.rooms import Target

# Values of `applies_to`.
EVERY, STRANGERS, KNOWN = "logins", "stranger", "known"
RESETS, SIGN_UPS, CODES, CHANGES = "resets", "sign_ups", "codes", "changes"


def _is_step(kind: str, request: HttpRequest) -> bool:
    return import_string("ratewindow.contrib.logins.steps.is_step")(kind, request)  # type: ignore[no-any-return]


_OF_LOGINS = {
    EVERY: (_("Every login"), _("on every login"), _("it tries no password")),
    STRANGERS: (_("Logins of strangers"), _("on logins of strangers"), _("no stranger tries a password")),
    KNOWN: (_("Logins from known devices"), _("on logins from known devices"), _("no known device tries a password")),
}
LOGINS = {kind: Target(*words, holds=True, typed="username=somebody") for kind, words in _OF_LOGINS.items()}
STEPS = {
    RESETS: Target(
        _("Mails that anybody may ask for"), _("on requests for a mail"), _("it asks for no mail"), partial(_is_step, RESETS)
    ),
    SIGN_UPS: Target(_("Sign-ups"), _("on sign-ups"), _("it is no sign-up"), partial(_is_step, SIGN_UPS)),
    CODES: Target(
        _("One-time codes, page passwords"), _("on codes that are tried"), _("it tries no code"), partial(_is_step, CODES)
    ),
    CHANGES: Target(
        _("Passwords typed again"), _("on passwords typed again"), _("it types no password again"), partial(_is_step, CHANGES)
    ),
}
