"""A site like NetBox: no admin of Django's, but pages of its own and an API by tokens, which are those of the documentation."""

from testproject.settings import *  # noqa: F403

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "rest_framework",
    "rest_framework.authtoken",
    "ratewindow",
    "ratewindow.contrib.history",
]
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware", "ratewindow.middleware.RateWindowMiddleware"]
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["rest_framework.authentication.TokenAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
}
ROOT_URLCONF = "tests.sites.own_admin_urls"
