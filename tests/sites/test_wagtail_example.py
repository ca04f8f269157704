"""The documented page for Wagtail's admin, by stand-ins for the two names and the templates that it takes from Wagtail.

Wagtail brings a dozen packages, so the tests do not install it.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse

from ratewindow.models import Override
from tests.support.documented import file, module
from tests.support.rule_pages import define

pytestmark = pytest.mark.django_db

PAGE = "developers/without_admin.md"
WAGTAILS = {
    "wagtailadmin/base.html": "<html>{% block content %}{% endblock %}</html>",
    "wagtailadmin/shared/header.html": "<h1>{{ title }}</h1>",
}
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.locmem.Loader",
                    {**WAGTAILS, "limits/limits.html": file(PAGE, "limits/templates/limits/limits.html")},
                )
            ]
        },
    }
]


class MenuItem:
    """As that of `wagtail.admin.menu`."""

    def __init__(self, label: str, url: str, icon_name: str = "") -> None:
        self.label, self.url, self.icon_name = label, url, icon_name


@pytest.fixture
def hooked(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The functions that the example registers, by the names of Wagtail's hooks; its addresses are those of the site."""
    found = dict[str, Callable[[], Any]]()

    def register(name: str) -> Callable[[Any], Any]:
        return lambda function: found.setdefault(name, function)

    hooks = ModuleType("hooks")
    vars(hooks)["register"] = register
    parts: dict[str, dict[str, Any]] = {
        "wagtail": {"hooks": hooks},
        "wagtail.admin": {},
        "wagtail.admin.menu": {"MenuItem": MenuItem},
    }
    for name, values in parts.items():
        part = ModuleType(name)
        vars(part).update(values)
        monkeypatch.setitem(sys.modules, name, part)
    module(PAGE, "limits/wagtail_hooks.py")
    urls = ModuleType("urls_of_the_example")
    vars(urls)["urlpatterns"] = found["register_admin_urls"]()
    monkeypatch.setitem(sys.modules, urls.__name__, urls)
    with override_settings(ROOT_URLCONF=urls.__name__, TEMPLATES=TEMPLATES):
        yield found


def logged_in(*permissions: str) -> tuple[Any, Client]:
    user, client = User.objects.create(username="ann"), Client()
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client.force_login(user)
    return user, client


def test_its_page_shows_the_report_and_the_rules_and_blocks_a_client(hooked: Any) -> None:
    define()
    _, client = logged_in("view_throttlestat", "view_raterule", "add_override")
    shown = client.get(reverse("limits")).content.decode()
    assert "No request matched a rule." in shown and "login" in shown and "5 in 1m" in shown
    wrong = client.post(reverse("limits"), {"identity": "203.0.113.9", "duration": "soon"}).content.decode()
    assert "is not a duration" in wrong and not Override.objects.exists()
    sent = client.post(reverse("limits"), {"identity": "203.0.113.9", "duration": "1h", "reason": "spam"})
    assert sent.status_code == 302
    assert (Override.objects.get().identity, Override.objects.get().source) == ("ip:203.0.113.9", "api")


def test_who_may_only_look_is_told_so(hooked: Any) -> None:
    _, client = logged_in("view_throttlestat", "view_raterule")
    assert "You may not block clients." in client.post(reverse("limits"), {"identity": "203.0.113.9"}).content.decode()
    assert not Override.objects.exists()


@pytest.mark.parametrize(("permissions", "shown"), [(["view_throttlestat", "view_raterule"], True), (["view_raterule"], False)])
def test_its_menu_item_is_shown_to_whom_the_page_opens(hooked: Any, permissions: list[str], shown: bool) -> None:
    user, client = logged_in(*permissions)
    item, request = hooked["register_admin_menu_item"](), RequestFactory().get("/")
    request.user = user
    assert (item.url, item.is_shown(request)) == (reverse("limits"), shown)
    assert (client.get(item.url).status_code == 200) is shown
