"""Who has an account on the site, and the rules that guard it."""

import io
from collections.abc import Iterable

from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.hashers import make_password
from django.core.management import call_command
from oauth2_provider.models import Application

from benchmarks.logins.site.names import PASSWORD


def make_site(names: Iterable[str]) -> None:
    """The tables, these accounts, and with the room its ready rules, enforced."""
    call_command("migrate", verbosity=0)
    make_accounts(names)
    Application.objects.create(
        client_id="client", client_secret="secret", client_type="confidential", authorization_grant_type="password", name="app"
    )
    if apps.is_installed("ratewindow.contrib.logins"):
        call_command("ratewindow", "protect", "--enforce", stdout=io.StringIO())


def make_accounts(names: Iterable[str]) -> None:
    """Accounts that may log in everywhere, also in the admin."""
    model, password = get_user_model(), make_password(PASSWORD)
    model.objects.bulk_create(
        model(username=name, email=f"{name}@example.com", password=password, is_staff=True, is_superuser=True) for name in names
    )
