"""Settings of the demo site, which the tests use, too; environment variables vary them."""

import os
from pathlib import Path

import django

from ratewindow import rooms
from ratewindow.schedule import BEAT_SCHEDULE

BASE_DIR = Path(__file__).resolve().parent.parent
SECRET_KEY = os.environ.get("TESTPROJECT_SECRET_KEY", "for demonstration and tests only, never for a site of your own")
DEBUG = os.environ.get("TESTPROJECT_DEBUG") == "1"
ALLOWED_HOSTS = ["*"]

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "ratewindow",
    *rooms.names(),
    "testproject",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "ratewindow.middleware.RateWindowMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
AUTHENTICATION_BACKENDS = [
    *(["ratewindow.contrib.logins.LoginGate"] if "ratewindow.contrib.logins" in INSTALLED_APPS else []),
    "django.contrib.auth.backends.ModelBackend",
]

REDIS_URL = os.environ.get("RATEWINDOW_REDIS_URL", "redis://127.0.0.1:6379/0")
RATEWINDOW = {
    "REDIS": REDIS_URL,
    "TRUSTED_PROXIES": [network for network in os.environ.get("RATEWINDOW_TRUSTED_PROXIES", "").split(",") if network],
}

CELERY_BROKER_URL = os.environ.get("CELERY_BROKER_URL", REDIS_URL)
CELERY_BEAT_SCHEDULE = BEAT_SCHEDULE
CELERY_TASK_IGNORE_RESULT = True
CELERY_TIMEZONE = "UTC"

ROOT_URLCONF = "testproject.urls"
WSGI_APPLICATION = "testproject.wsgi.application"
ASGI_APPLICATION = "testproject.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("TESTPROJECT_DATABASE", BASE_DIR / "db.sqlite3"),
        # Two web workers and a Celery worker write to one file: WAL lets readers continue, and writers wait for each other.
        "OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL;"},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Mails are written to the terminal.
if django.VERSION >= (6, 1):
    MAILERS = {"default": {"BACKEND": "django.core.mail.backends.console.EmailBackend"}}
else:
    EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True
STATIC_URL = "static/"
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
