"""A site without any users, such as a service that other programs call."""

from ratewindow import rooms
from testproject.settings import *  # noqa: F403

INSTALLED_APPS = ["ratewindow", *rooms.names()]
MIDDLEWARE = ["ratewindow.middleware.RateWindowMiddleware"]
ROOT_URLCONF = "tests.sites.without_admin_urls"
