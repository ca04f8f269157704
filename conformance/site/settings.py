"""The settings of the site that is limited: Django's plainest, and what the adapter adds."""

import os
from pathlib import Path

from conformance.adapter import Where
from conformance.adapters import find

WHERE = Where(os.environ["CONFORMANCE_KIND"], os.environ["CONFORMANCE_REDIS"], Path(os.environ["CONFORMANCE_FOLDER"]))
ADAPTER = find(os.environ["CONFORMANCE_ADAPTER"])

SECRET_KEY = "only-for-these-cases-0123456789abcdefghijklmnop"
DEBUG = False
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "conformance.site.urls"
USE_TZ = True
STATIC_URL = "/static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": WHERE.folder / "site.sqlite3",
        "OPTIONS": {"timeout": 30, "transaction_mode": "IMMEDIATE", "init_command": "PRAGMA journal_mode=WAL;"},
    }
}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": WHERE.redis_url}}
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
PASSWORD_HASHERS = ["conformance.site.hasher.NotingHasher"]
LOGIN_REDIRECT_URL = "/free/"
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
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
LOGGING = {"version": 1, "handlers": {"log": {"class": "logging.StreamHandler", "level": "ERROR"}}, "root": {"handlers": ["log"]}}
REST_FRAMEWORK = {"DEFAULT_AUTHENTICATION_CLASSES": [], "UNAUTHENTICATED_USER": None}

for _name, _value in ADAPTER.settings(WHERE).items():
    _before = globals().get(_name)
    if _name == "AUTHENTICATION_BACKENDS":
        _value = [*_value, *_before]  # a guard of logins is asked first
    elif isinstance(_before, list):
        _value = [*_before, *_value]
    elif isinstance(_before, dict):
        _value = _before | _value
    globals()[_name] = _value
