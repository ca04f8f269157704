"""The demo's site under django-unfold."""

from testproject.settings import *  # noqa: F403
from testproject.settings import INSTALLED_APPS

INSTALLED_APPS = ["unfold", *INSTALLED_APPS]
