"""Settings of the served site: those of the demo, with pages, rules and a patience of its own."""

import json
import os

from testproject.settings import *  # noqa: F403
from testproject.settings import INSTALLED_APPS, MIDDLEWARE, RATEWINDOW

INSTALLED_APPS = [*INSTALLED_APPS, "tests.serving.site"]
MIDDLEWARE = ["tests.serving.site.middleware.named", *(each for each in MIDDLEWARE if not each.endswith("CsrfViewMiddleware"))]
MIDDLEWARE.insert(MIDDLEWARE.index("django.middleware.common.CommonMiddleware"), "django.middleware.locale.LocaleMiddleware")
LANGUAGES = [("en", "English"), ("de", "German"), ("pt-br", "Brazilian Portuguese")]
ROOT_URLCONF = "tests.serving.site.urls"
RATEWINDOW = {
    **RATEWINDOW,
    # A busy machine may pause a process for longer than a site would wait, and one that fails open admits one more.
    "TIMEOUT": "5s",
    "TRUSTED_PROXIES": ["127.0.0.1/32", "127.3.0.0/16", "10.0.0.0/8"],
    **json.loads(os.environ.get("SERVED_RATEWINDOW", "{}")),
}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "loggers": {"ratewindow": {"handlers": ["console"], "level": "WARNING"}},
}
