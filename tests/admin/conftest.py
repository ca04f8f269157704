"""Staff of several kinds, logged in."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client


@pytest.fixture
def boss(db: None) -> User:
    """Without a password, whose hash would take longer than the test."""
    return User.objects.create(username="boss", is_staff=True, is_superuser=True)


@pytest.fixture
def page(client: Client, boss: User) -> Client:
    client.force_login(boss)
    return client


@pytest.fixture
def viewer(client: Client) -> Client:
    """Staff that may look and not touch."""
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=["view_raterule", "view_rulewindow"]))
    client.force_login(user)
    return client
