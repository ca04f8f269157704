"""Settings of the API."""

import os

SECRET_KEY = "for tests only"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "rest_framework", "rest_framework.authtoken"]
INSTALLED_APPS += ["ratewindow"]
ROOT_URLCONF = "urls"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
RATEWINDOW = {"REDIS": os.environ["RATEWINDOW_REDIS_URL"], "TIMEOUT": "5s", "TRUSTED_PROXIES": 1}
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.TokenAuthentication"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_THROTTLE_CLASSES": ["ratewindow.rest_framework.AnonRateThrottle", "ratewindow.rest_framework.UserRateThrottle"],
    "DEFAULT_THROTTLE_RATES": {
        "anon": "2/hour",
        "user": "3/day",
        "uploads": "2/hour",
        "burst": "2/hour",
        "sustained": "3/day",
        "shop": "1/hour",
    },
    "EXCEPTION_HANDLER": "views.told",
}
