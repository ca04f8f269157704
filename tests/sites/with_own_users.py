"""A site with users of its own, without Django's app for them, and so without the admin."""

from ratewindow import rooms
from testproject.settings import *  # noqa: F403

INSTALLED_APPS = [
    "tests.sites.own_users",
    "ratewindow",
    *(name for name in rooms.names() if name != "ratewindow.contrib.logins"),
]  # which needs Django's own
AUTH_USER_MODEL = "auth.User"
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
MIDDLEWARE = ["ratewindow.middleware.RateWindowMiddleware"]
ROOT_URLCONF = "tests.sites.without_admin_urls"
