"""The worst strings on every page of the admin: typed into its forms, stored in its rows, searched for. Each page is there, shows
them as text, and has no markup of theirs.
"""

import html
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import cycle
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse

from ratewindow.contrib.history import files
from ratewindow.models import Override, RateRule
from ratewindow.rules.rule import BLOCKS, NAME_PATTERN
from tests.support.admin_addresses import addresses
from tests.support.rule_pages import ADD, LIST, typed
from tests.support.worst_rows import STORED, write
from tests.support.worst_strings import WORST

pytestmark = pytest.mark.django_db

BLOCKS_LIST = reverse("admin:ratewindow_override_changelist")
SHORT = [each for each in STORED if len(each) <= 300]
MARKUP = [each for each in SHORT if any(mark in each for mark in "<>\"'&{%")]


def test_there_are_five_hundred_and_more() -> None:
    assert len(WORST) >= 500
    assert len(SHORT) >= 500


class _Foreign(HTMLParser):
    """Collects what no page of ours has: code in the page, handlers in attributes, addresses of others."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._data: str | None = None  # of a script that holds data

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("iframe", "object", "embed", "base", "plaintext", "math", "style", "animate"):
            self.found.append(f"<{tag}>")
        if tag == "meta" and "http-equiv" in given:
            self.found.append("<meta http-equiv>")
        if tag == "script" and "src" not in given:
            is_data = given.get("type") == "application/json"
            self.found += [] if is_data else ["a script in the page"]
            self._data = "" if is_data else None
        for name, value in given.items():
            if name.startswith("on") or (name == "style" and ("position" in value or "url" in value)):
                self.found.append(f"{name}={value}")
            if name in ("href", "src", "action", "formaction", "data", "xlink:href"):
                place = urlsplit(re.sub(r"[\x00-\x20]", "", value)) if "[" not in value else urlsplit("")
                is_ours = place.scheme in ("", "http", "https", "data") and "evil" not in place.netloc
                if not is_ours or (place.scheme == "data" and not value.startswith("data:image/")) or value == "x":
                    self.found.append(f"{name}={value}")

    def handle_data(self, data: str) -> None:
        if self._data is not None:
            self._data += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "script" and self._data:
            json.loads(self._data)
        self._data = None


def clean(response: HttpResponse, statuses: tuple[int, ...] = (200,)) -> str:
    """The page, which must have answered, and must have no markup of others."""
    assert response.status_code in statuses
    page = response.content.decode()
    reader = _Foreign()
    reader.feed(page)
    assert reader.found == []
    return page


def shown(page: str) -> str:
    """The words of a page, as a person reads them."""
    return html.unescape(re.sub(r"<[^>]+>", " ", page))


class TestTyped:
    def test_as_names_of_rules_of_which_the_valid_ones_are_saved(self, page: Client) -> None:
        """By the form alone: with their page 700 of them take minutes."""
        request = RequestFactory().post(ADD)
        request.user = User.objects.get(username="boss")
        form = admin.site.get_model_admin(RateRule).get_form(request)
        for each in dict.fromkeys(each.strip() for each in STORED):
            made = form({**typed(name=each), "count_when": "always", "response_status": "429"})
            assert ("name" in made.errors) != is_name(each), repr(each)
            if not made.errors:
                made.save()
        good = {each.strip() for each in STORED if is_name(each.strip())}
        assert len(good) > 10
        assert set(RateRule.objects.values_list("name", flat=True)) == good
        for address in (LIST, reverse("admin:ratewindow_report")):
            clean(page.get(address))

    def test_as_every_field_of_a_rule(self, page: Client) -> None:
        for each in MARKUP[::4]:
            fields = dict.fromkeys(("name", "description", "pattern", "methods", "key", "count_when", "message", "why"), each)
            clean(page.post(ADD, typed((each[:30], each[:30]), **fields, response_status="429")))
        assert not RateRule.objects.exists()

    def test_as_every_field_of_a_block(self, page: Client) -> None:
        add = reverse("admin:ratewindow_override_add")
        for each in MARKUP[1::4]:
            fields = dict.fromkeys(("identity", "reason", "rule", "rate", "expires_at_0", "starts_at_0"), each)
            clean(page.post(add, {**fields, "action": "block", "lasts": "1h"}), (200, 302))

    def test_as_a_question_to_a_page(self, page: Client) -> None:
        for each in MARKUP[2::18]:
            for address, field in ((LIST, "q"), (BLOCKS_LIST, "q"), (reverse("admin:ratewindow_report"), "rule"), (ADD, "name")):
                clean(page.get(address, {field: each}), (200, 302))


def is_name(name: str) -> bool:
    return bool(re.match(NAME_PATTERN, name)) and name != BLOCKS


@pytest.fixture
def written(boss: User) -> None:
    write(boss, STORED)


class TestStored:
    def test_every_page_of_the_admin_is_there(self, page: Client, written: None) -> None:
        answers = [answer for address in addresses() if "Content-Disposition" not in (answer := page.get(address))]
        for answer in answers:
            clean(answer, (200, 403, 404, 405))  # some take no GET, or have nothing to restore or to add
        assert len([answer for answer in answers if answer.status_code == 200]) >= 15

    def test_the_lists_show_each_of_them_as_it_is(self, page: Client, written: None) -> None:
        rules = squeezed(" ".join(shown(clean(answer)) for answer in pages(page, LIST)))
        blocks = squeezed(" ".join(shown(clean(answer)) for answer in pages(page, BLOCKS_LIST)))
        literal = [each for each in STORED if len(each) < 60 and each.isprintable() and each.strip() == each]
        assert len(literal) > 400
        missing = [each for each in literal if squeezed(each) not in blocks or ("+" not in each and squeezed(each) not in rules)]
        assert missing == []

    def test_the_pages_of_their_rows_are_there(self, page: Client, written: None) -> None:
        rules, blocks = RateRule.objects.order_by("pk"), Override.objects.order_by("pk")
        marked = [number for number, each in enumerate(STORED) if each in MARKUP]
        for number, kind in zip(marked[::5], cycle(("change", "history", "delete")), strict=False):
            clean(page.get(reverse(f"admin:ratewindow_raterule_{kind}", args=[rules.get(name=f"w-{number}").pk])))
            clean(page.get(reverse(f"admin:ratewindow_override_{kind}", args=[blocks[number].pk])))

    def test_what_an_action_says_of_them(self, page: Client, written: None) -> None:
        keys = list(RateRule.objects.values_list("pk", flat=True))[:100]
        for action in ("enforce", "shadow", "switch_off", "delete_selected"):
            clean(page.post(LIST, {"action": action, "_selected_action": keys, "confirm": "on"}, follow=True))

    def test_a_document_of_them_is_read_as_it_was_written(self, written: None) -> None:
        rules = RateRule.objects.prefetch_related("windows")
        assert rules.count() == len(STORED)
        assert files.read(files.write(rules, files.YAML)) == files.read(files.write(rules)) != []


def pages(client: Client, address: str) -> Iterator[Any]:
    """Each page of a list."""
    first = client.get(address)
    yield first
    for number in range(2, first.context["cl"].paginator.num_pages + 1):
        yield client.get(address, {"p": number})


def squeezed(words: str) -> str:
    return re.sub(r"\s+", "", words)


@pytest.mark.parametrize(
    "markup",
    ["<script>alert(1)</script>", "<img src=x>", "<a onclick=alert(1)>", "<a href=' javascript:alert(1)'>", "<iframe>", "<base>"],
)
def test_what_would_run_is_found(markup: str) -> None:
    with pytest.raises(AssertionError):
        clean(HttpResponse(markup))


def test_what_does_not_run_is_not() -> None:
    clean(HttpResponse("<a href='/x/'>x</a><script type='application/json'>{}</script>"))
