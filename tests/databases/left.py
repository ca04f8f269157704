"""Settings of a site that has left: nothing of ratewindow is in them."""

from testproject.settings import *  # noqa: F403
from testproject.settings import INSTALLED_APPS, MIDDLEWARE

INSTALLED_APPS = [name for name in INSTALLED_APPS if not name.startswith(("ratewindow", "testproject"))]
MIDDLEWARE = [name for name in MIDDLEWARE if not name.startswith("ratewindow")]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
ROOT_URLCONF = "django.contrib.admin.sites"
del RATEWINDOW, CELERY_BEAT_SCHEDULE  # noqa: F821
