"""Where people log in, reset a password, sign up or send a code, and in which field a login sends the name that it tries."""

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from ratewindow.overrides import users
from ratewindow.rules.site_routes import Route, class_behind

USER_FIELD = "body:USERNAME_FIELD"  # of the user model

# With the field of the name that is tried, and a ? where a login may come without it; "" where it is not known, or there is none.
LOGINS = {
    "allauth.account.views.LoginView": "post:login",
    "allauth.headless.account.views.LoginView": "",
    "allauth.headless.mfa.views.LoginWebAuthnView": "",
    "allauth.mfa.webauthn.views.LoginWebAuthnView": "",
    "dj_rest_auth.views.LoginView": f"{USER_FIELD}?",  # which takes an e-mail address instead
    "django.contrib.admin.sites.AdminSite.login": "post:username",
    "django.contrib.auth.views.LoginView": "post:username",  # of Wagtail, too
    "djoser.views.TokenCreateView": f"{USER_FIELD}?",
    "rest_framework.authtoken.views.ObtainAuthToken": "body:username",
    "rest_framework_simplejwt.views.TokenObtainPairView": USER_FIELD,
    "rest_framework_simplejwt.views.TokenObtainSlidingView": USER_FIELD,
    "two_factor.admin.AdminSiteOTPRequiredMixin.login": "",
    "two_factor.admin.patch_admin.<locals>.login": "",  # which that package puts in the place of the admin's
    "two_factor.views.core.LoginView": "post:auth-username?",  # in the first of its steps
}
RESETS = {
    "allauth.account.views.PasswordResetView",
    "allauth.headless.account.views.RequestPasswordResetView",
    "dj_rest_auth.views.PasswordResetView",
    "django.contrib.auth.views.PasswordResetView",  # of Wagtail, too
}
SIGN_UPS = {
    "allauth.account.views.SignupByPasskeyView",
    "allauth.account.views.SignupView",
    "allauth.headless.account.views.SignupView",
    "allauth.headless.mfa.views.SignupWebAuthnView",
    "allauth.headless.socialaccount.views.ProviderSignupView",
    "allauth.mfa.webauthn.views.SignupWebAuthnView",
    "allauth.socialaccount.views.SignupView",
    "dj_rest_auth.registration.views.RegisterView",
    "django_registration.views.RegistrationView",
}
# Where a code is tried, or sent. A wrong one is no failed login to Django.
CODES = {
    "allauth.account.views.ConfirmLoginCodeView",
    "allauth.account.views.ConfirmPasswordResetCodeView",
    "allauth.account.views.RequestLoginCodeView",
    "allauth.headless.account.views.ConfirmLoginCodeView",
    "allauth.headless.account.views.RequestLoginCodeView",
    "allauth.headless.account.views.ResendEmailVerificationCodeView",
    "allauth.headless.account.views.ResendLoginCodeView",
    "allauth.headless.account.views.ResendPhoneVerificationCodeView",
    "allauth.headless.account.views.VerifyEmailView",
    "allauth.headless.account.views.VerifyPhoneView",
    "allauth.headless.mfa.views.AuthenticateView",
    "allauth.mfa.base.views.AuthenticateView",
    "two_factor.views.core.LoginView",  # whose second step asks for the code
}
PACKAGES = (
    *("allauth.", "dj_rest_auth.", "djoser.", "oauth2_provider.", "rest_framework_simplejwt.", "two_factor."),
    *("django.contrib.", "django.views.generic.base.RedirectView", "wagtail."),
)


_LOGIN_NAME = re.compile(r"([\w-]+[-_])?a?(log|sign)[-_]?in([-_](api|view))?", re.IGNORECASE)  # `a` as in Django's own `alogin`
RESET_NAME = re.compile(r"(\w+_)?(password[-_]?reset|reset[-_]?password|(forgot|lost)[-_]?password)", re.IGNORECASE)
CODE_NAME = re.compile(
    r"(\w+_)?(t?otp|[2m]fa|two[-_]?factor|(one[-_]?time|verify|verification|confirm|login|send|resend|request)[-_]?(code|otp|sms))"
    r"([-_]?(verify|verification|confirm|check|challenge|send|login|auth|authenticate))?",
    re.IGNORECASE,
)
SIGN_UP_NAME = re.compile(r"(\w+_)?(sign[-_]?up|register|registration)", re.IGNORECASE)


_KINDS = {
    "login": (LOGINS.keys(), _LOGIN_NAME),
    "password-reset": (RESETS, RESET_NAME),
    "sign-up": (SIGN_UPS, SIGN_UP_NAME),
    "one-time-code": (CODES, CODE_NAME),
}


def public(place: str) -> str:
    """The dotted name by which a package names its view: allauth has moved them into private modules."""
    return re.sub(r"\._\w+(?=\.)", "", place)


def is_for(kind: str, route: Route) -> bool:
    """Whether it is a view of this kind, or the URL's name or the last part of its path is one that such views have.

    Packages whose views are known have others with such names: a login with another site, a phone that is registered.
    """
    views, names = _KINDS[kind]
    if not views.isdisjoint(map(public, route.views)):
        return True
    name, last = route.way.url_name or "", route.path.rstrip("/").rpartition("/")[2]
    return not route.way.view.startswith(PACKAGES) and bool(names.fullmatch(name) or names.fullmatch(last))


class NameField(NamedTuple):
    """Where a login sends the name that it tries."""

    key: str
    is_always_sent: bool


def name_field(route: Route) -> NameField | None:
    """The field of the view's own form; else the one that is known of its package; else that of its serializer."""
    known = next((_known(LOGINS[each]) for each in map(public, route.views) if LOGINS.get(each)), None)
    return (
        _declared(route, "post", ("authentication_form", "form_class"))
        or known
        or _declared(route, "body", ("serializer_class",))
    )


def _name_of_users() -> str:
    """The field by which users of the site's model log in."""
    return str(getattr(users.model(), "USERNAME_FIELD", "username"))


def _known(field: str) -> NameField:
    key = field.removesuffix("?")
    return NameField(f"body:{_name_of_users()}" if key == USER_FIELD else key, key == field)


def _declared(route: Route, kind: str, options: Iterable[str]) -> NameField | None:
    shown, given = class_behind(route.way.callback) or (None, {})
    for option in options:
        form: Any = given.get(option) or getattr(shown, option, None)
        fields = getattr(form, "base_fields", None) or getattr(form, "_declared_fields", {})
        for name in ("username", "email", "login", _name_of_users()):
            if name in fields:
                return NameField(f"{kind}:{name}", fields[name].required)
    return None
