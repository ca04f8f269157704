"""The app takes the label of Django's."""

from django.apps import AppConfig


class OwnUsers(AppConfig):
    name = "tests.sites.own_users"
    label = "auth"
    default_auto_field = "django.db.models.BigAutoField"
