"""The demo's site under django-jazzmin, as light or dark as the system says."""

from testproject.settings import *  # noqa: F403
from testproject.settings import INSTALLED_APPS

INSTALLED_APPS = ["jazzmin", *INSTALLED_APPS]
JAZZMIN_UI_TWEAKS = {"default_theme_mode": "auto"}
JAZZMIN_SETTINGS = {"use_google_fonts_cdn": False}
