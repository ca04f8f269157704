"""A site without any users, such as a service that other programs call."""

from ratewindow import rooms
from testproject.settings import *  # noqa: F403

INSTALLED_APPS = [
    "ratewindow",
    *(name for name in rooms.names() if name != "ratewindow.contrib.logins"),
]  # which needs Django's own
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
MIDDLEWARE = ["ratewindow.middleware.RateWindowMiddleware"]
ROOT_URLCONF = "tests.sites.without_admin_urls"
