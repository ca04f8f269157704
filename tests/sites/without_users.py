"""A site without any users, such as a service that other programs call."""

from testproject.settings import *  # noqa: F403

INSTALLED_APPS = ["ratewindow"]
MIDDLEWARE = ["ratewindow.middleware.RateWindowMiddleware"]
ROOT_URLCONF = "tests.sites.without_admin_urls"
