"""One project for the four sites, each at a path of its own."""

from testproject.settings import *  # noqa: F403

INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "ratewindow", "tests.sites.by_plan"]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
MIDDLEWARE = ["tests.sites.by_plan.urls.sign_in", "ratewindow.middleware.RateWindowMiddleware"]
ROOT_URLCONF = "tests.sites.by_plan.urls"
