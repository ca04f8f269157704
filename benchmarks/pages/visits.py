"""The pages of the admin whose time and queries must not grow with the rows, and the plain lists of the same rows."""

from collections.abc import Mapping

from django.contrib import admin
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path, reverse

from ratewindow.contrib.history.models import Edit
from ratewindow.models import Override, RateRule

LISTS = {  # a query string and what it shows
    "override": {
        "": "blocks, first page",
        "p=PAGE": "blocks, a page in the middle",
        "q=198.": "blocks, an address that begins so",
        "q=rule-0007": "blocks, those for a rule",
        "q=zzznothing": "blocks, a search that finds nothing",
        "action__exact=block": "blocks, filtered by action",
        "o=2": "blocks, sorted by who",
    },
    "raterule": {"": "rules, first page", "mode__exact=shadow": "rules, filtered by mode"},
    "history_edit": {
        "": "history, first page",
        "p=PAGE": "history, a page in the middle",
        "q=rule-0007": "history, of a rule",
        "q=zzznothing": "history, a search that finds nothing",
        "kind__exact=rule": "history, filtered by kind",
    },
}
PERIODS = ("15m", "24h", "7d", "30d", "1y")


class Plain(ModelAdmin):  # type: ignore[type-arg]
    change_list_template = "admin/change_list.html"


class PlainOverrides(Plain):
    list_display = ("action", "identity", "rule", "expires_at", "reason")
    list_filter = ("action",)
    search_fields = ("rule", "reason", "identity")


class PlainRules(Plain):
    list_display = ("name", "mode", "applies_to", "pattern")
    list_filter = ("mode", "applies_to")
    search_fields = ("name", "description", "pattern")


class PlainEdits(Plain):
    list_display = ("at", "kind", "subject", "by")
    list_filter = ("kind", "action")
    search_fields = ("by", "reason", "subject")


plain = AdminSite(name="plain")
plain.register(Override, PlainOverrides)
plain.register(RateRule, PlainRules)
plain.register(Edit, PlainEdits)
urlpatterns = [path("plain/", plain.urls), path("admin/", admin.site.urls)]


def addresses(overrides: int) -> dict[str, tuple[str, str]]:
    """By what is shown: the address, and that of the plain list, or empty."""
    found = {}
    middle = {"override": overrides // 200, "history_edit": overrides // 100}
    for model, queries in LISTS.items():
        ours, theirs = (reverse(f"{site}:ratewindow_{model}_changelist") for site in ("admin", "plain"))
        for query, name in queries.items():
            query = query.replace("PAGE", str(middle.get(model)))
            found[name] = f"{ours}?{query}", f"{theirs}?{query}"
    rule, block = RateRule.objects.get(name="rule-0007"), Override.objects.get_queryset().earliest("pk")
    edit, report = Edit.objects.earliest("pk"), reverse("admin:ratewindow_report")
    for name, page, of in (
        ("a rule", "raterule_look", [rule.pk]),
        ("the form of a rule", "raterule_change", [rule.pk]),
        ("the history of a rule", "raterule_history", [rule.pk]),
        ("a block", "override_change", [block.pk]),
        ("the history of a block", "override_history", [block.pk]),
        ("an edit", "history_edit_change", [edit.pk]),
        ("State", "state", []),
    ):
        found[name] = reverse(f"admin:ratewindow_{page}", args=of), ""
    for period in PERIODS:
        found[f"report of {period}"] = f"{report}?period={period}", ""
        found[f"report of {period}, one rule"] = f"{report}?period={period}&rule=rule-0007", ""
    return found


def visitor() -> Client:
    """Logged in as somebody who may see everything."""
    client = Client(SERVER_NAME="localhost")
    client.force_login(get_user_model().objects.get_or_create(username="boss", is_staff=True, is_superuser=True)[0])
    return client


def queries(client: Client, overrides: int) -> Mapping[str, int]:
    """How many queries each page takes, its second time."""
    found = {}
    for name, (address, _) in addresses(overrides).items():
        client.get(address)
        with CaptureQueriesContext(connection) as asked:
            response = client.get(address)
        assert response.status_code == 200, (name, response.status_code)
        found[name] = len(asked)
    return found
