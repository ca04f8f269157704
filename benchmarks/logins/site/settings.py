"""The site's settings. ``LOGINS_GUARD`` is ours, axes, axes-by-name, cookies, or none: ratewindow without its room of logins."""

import os
from pathlib import Path

GUARD = os.environ.get("LOGINS_GUARD", "none")
SECRET_KEY = "only-for-this-benchmark-0123456789abcdef"
DEBUG = False
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "benchmarks.logins.site.urls"
USE_TZ = True
SITE_ID = 1
STATIC_URL = "/static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("LOGINS_DATABASE", ":memory:"),
        # Logins write sessions and times from many processes at once, and this is no benchmark of SQLite.
        "OPTIONS": {
            "timeout": 30,
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;",
        },
    }
}
PASSWORD_HASHERS = ["benchmarks.logins.site.hasher.NotingHasher"]
LOGIN_URL = "two_factor:login"
LOGIN_REDIRECT_URL = "/"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.sites",
    "django.contrib.staticfiles",
    "rest_framework",
    "rest_framework.authtoken",
    "rest_framework_simplejwt",
    "knox",
    "djoser",
    "ninja_extra",
    "ninja_jwt",
    "oauth2_provider",
    "graphene_django",
    "allauth",
    "allauth.account",
    "allauth.headless",
    "dj_rest_auth",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
    "two_factor",
    "wagtail.users",
    "wagtail.documents",
    "wagtail.images",
    "wagtail.admin",
    "wagtail",
    "taggit",
    "treebeard",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend", "allauth.account.auth_backends.AuthenticationBackend"]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "DIRS": [Path(__file__).parent / "templates"],
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
REST_FRAMEWORK = {"DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.BasicAuthentication"]}
REST_AUTH = {"USE_JWT": False}
GRAPHENE = {"SCHEMA": "benchmarks.logins.site.schema.schema", "MIDDLEWARE": []}
ACCOUNT_RATE_LIMITS = False
TWO_FACTOR_PATCH_ADMIN = False
HEADLESS_CLIENTS = ("app", "browser")
OAUTH2_PROVIDER = {"PKCE_REQUIRED": False}
WAGTAIL_SITE_NAME = "site"
WAGTAILADMIN_BASE_URL = "http://localhost"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

if GUARD in ("ours", "none"):
    INSTALLED_APPS += ["ratewindow"]
    MIDDLEWARE += ["ratewindow.middleware.RateWindowMiddleware"]
    RATEWINDOW = {
        "REDIS": os.environ.get("LOGINS_REDIS", "memory://"),
        "TIMEOUT": os.environ.get("LOGINS_TIMEOUT", "100ms"),  # the default
        "TRUSTED_PROXIES": ["127.0.0.0/8"],
    }
    if GUARD == "ours":
        INSTALLED_APPS += ["ratewindow.contrib.logins"]
        AUTHENTICATION_BACKENDS = ["ratewindow.contrib.logins.LoginGate", *AUTHENTICATION_BACKENDS]
elif GUARD in ("axes", "axes-by-name"):
    INSTALLED_APPS += ["axes"]
    MIDDLEWARE += ["axes.middleware.AxesMiddleware"]
    AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", *AUTHENTICATION_BACKENDS]
    AXES_IPWARE_META_PRECEDENCE_ORDER = ["REMOTE_ADDR"]
    if GUARD == "axes-by-name":
        AXES_LOCKOUT_PARAMETERS = ["username"]
elif GUARD == "cookies":
    INSTALLED_APPS += ["django_device_cookies"]
    MIDDLEWARE += ["django_device_cookies.middleware.DeviceCookieMiddleware"]
    AUTHENTICATION_BACKENDS = ["django_device_cookies.backends.DeviceCookieBackend", *AUTHENTICATION_BACKENDS]
    DEVICE_COOKIE_SECURE = False  # the attacks come by http
