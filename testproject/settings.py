"""Settings of the demo site with all its parts, which the tests use, too: those of ``ratewindow.demo``, and what varies."""

import os
from pathlib import Path

from ratewindow.demo.settings import *  # noqa: F403
from ratewindow.demo.settings import INSTALLED_APPS
from ratewindow.schedule import BEAT_SCHEDULE
from testproject.databases import database

BASE_DIR = Path(__file__).resolve().parent.parent
SECRET_KEY = os.environ.get("TESTPROJECT_SECRET_KEY", "for demonstration and tests only, never for a site of your own")
DEBUG = os.environ.get("TESTPROJECT_DEBUG") == "1"

INSTALLED_APPS += ["testproject"]

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

DATABASES = {"default": database(os.environ.get("TESTPROJECT_DATABASE", BASE_DIR / "db.sqlite3"))}

LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/"
