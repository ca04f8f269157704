"""The demo's site under django-grappelli."""

from testproject.settings import *  # noqa: F403
from testproject.settings import INSTALLED_APPS

INSTALLED_APPS = ["grappelli", *INSTALLED_APPS]
ROOT_URLCONF = "tests.sites.grappelli_urls"
