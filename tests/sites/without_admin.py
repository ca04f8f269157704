"""A site whose web workers do without the admin, sessions and messages."""

from testproject.settings import *  # noqa: F403

INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.staticfiles", "ratewindow", "testproject"]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware", "ratewindow.middleware.RateWindowMiddleware"]
ROOT_URLCONF = "tests.sites.without_admin_urls"
