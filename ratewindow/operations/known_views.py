"""Where the packages that most sites use log in, reset passwords, sign up and ask for codes, by view.

Their other views are none of these, whatever their names and paths are.
"""

_USERNAME, _LOGIN = "post:username", "post:login"
USER_FIELD = "body:USERNAME_FIELD"  # of the user model

# With the field of the name that is tried, and a ? where a login may come without it; "" where it is not known, or there is none.
LOGINS = {
    "allauth.account.views.LoginView": _LOGIN,
    "allauth.headless.account.views.LoginView": "",
    "allauth.headless.mfa.views.LoginWebAuthnView": "",
    "allauth.mfa.webauthn.views.LoginWebAuthnView": "",
    "dj_rest_auth.views.LoginView": f"{USER_FIELD}?",  # which takes an e-mail address instead
    "django.contrib.admin.sites.AdminSite.login": _USERNAME,
    "django.contrib.auth.views.LoginView": _USERNAME,  # of Wagtail, too
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
# About accounts alone, also where they answer programs.
_ACCOUNTS = ("allauth.", "dj_rest_auth.", "rest_framework_simplejwt.", "two_factor.")
_EDITORS = ("wagtail.admin.", "wagtail.documents.api.admin.", "wagtail.images.api.admin.")
_PACKAGES = (*_ACCOUNTS, "django.contrib.", "django.views.generic.base.RedirectView", "wagtail.")


def is_of_a_package(view: str) -> bool:
    """Whether the view is one of a package above."""
    return view.startswith(_PACKAGES)


def is_about_accounts(view: str) -> bool:
    """Whether the view serves people's accounts, or editors, and no part of the site's own API."""
    return view.startswith((*_ACCOUNTS, *_EDITORS))
