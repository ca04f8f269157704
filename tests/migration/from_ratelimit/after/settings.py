"""Settings of the shop."""

import os

SECRET_KEY = "for tests only"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "ratewindow"]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "ratewindow.middleware.RateWindowMiddleware",
]
ROOT_URLCONF = "urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}

RATEWINDOW = {"REDIS": os.environ["RATEWINDOW_REDIS_URL"], "TIMEOUT": "5s"}
