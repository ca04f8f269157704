"""People who may log into the admin, each with some permissions."""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client


def staff(*permissions: str) -> Client:
    """A client of a new user with these permissions of ratewindow."""
    users = get_user_model().objects
    user = users.create_user(f"staff{users.count()}", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions, content_type__app_label="ratewindow"))
    client = Client()
    client.force_login(user)
    return client
