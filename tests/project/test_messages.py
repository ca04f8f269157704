"""Every text of the admin can be translated: none is outside gettext, in templates, in modules or on the pages themselves."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import translation

from ratewindow.models import Edit, Override, RateRule
from ratewindow.rules import code_rates

PACKAGE = Path(__file__).resolve().parents[2] / "ratewindow"
TEMPLATES = sorted((PACKAGE / "templates").rglob("*.html"))
MODULES = sorted((PACKAGE / "admin").rglob("*.py"))
TRANSLATING = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "ngettext_lazy", "pgettext", "pgettext_lazy"}
STAY = {  # texts of modules that look like words and are none that anybody reads, or stay in English, with the reason
    r"^Switched |^Released|^Restored: |^Imported\.$": "in the log of Django's admin, which has one text for all",
    r"^A release cannot be taken back|^There is no state ": "Http404, whose text only developers see",
    r"^manage\.py |^MIDDLEWARE \+= ": "code to type",
    r"^(ip|path) [a-z_ ]+$": "values of fields, for scripts",
}
DATA = re.compile(  # what pages show that is no text of theirs: names of rules and of what is looked at, products, units, code
    r"\b(api|everything|login|search|boss|scraping|code|define|Redis|Valkey|noeviction|YAML|JSON|UTC|kB|min|pytest|python|"
    r"ratewindow|superuser|GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS|named|URL)\b|demo\.\w+|redis://\S+|\b(ip|user|group|header):\S+"
)
PLACES = re.compile(r"(: )?[a-z_]+([.:][a-z_0-9]+)?")  # names of this site's routes, and of ready rules after them


def texts_of_template(path: Path) -> Iterator[str]:
    text = re.sub(
        r"\{#.*?#\}|\{% blocktranslate.*?endblocktranslate %\}|<code>.*?</code>", "", path.read_text("utf-8"), flags=re.S
    )
    text = re.sub(r"\{% block bodyclass %\}.*?\{% endblock %\}", "", text)
    text = re.sub(r"\{[%{].*?[%}]\}", "", text, flags=re.S)
    yield from re.findall(r'(?:aria-label|title|placeholder|data-label|data-unknown)="([^"]*)"', text)
    yield from re.findall(r'<input type="submit"[^>]* value="([^"]*)"', text)
    yield from re.split(r"<[^>]*>", text)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.relative_to(PACKAGE / "templates").as_posix())
def test_no_template_has_words_outside_gettext(path: Path) -> None:
    left = [text.strip() for text in texts_of_template(path) if re.search(r"[A-Za-z]{2}", re.sub(r"&\w+;|Redis", "", text))]
    assert left == []


def texts_of_module(path: Path) -> Iterator[str]:
    """The literals that are sentences or several words, outside gettext, docstrings and markup."""
    tree = ast.parse(path.read_text("utf-8"))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or isinstance(parents[node], ast.Expr):
            continue
        calls = [each for each in _ancestors(node, parents) if isinstance(each, ast.Call)]
        if any(getattr(call.func, "id", "") in TRANSLATING for call in calls[:1]):
            continue
        words = re.sub(r"<[^>]*>", "", node.value).strip()
        if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,}", words):
            yield node.value


def _ancestors(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> Iterator[ast.AST]:
    while node in parents:
        node = parents[node]
        yield node


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_module_of_the_admin_has_sentences_outside_gettext(path: Path) -> None:
    assert [text for text in texts_of_module(path) if not any(re.search(pattern, text) for pattern in STAY)] == []


class Visible(HTMLParser):
    """The texts that a person meets on a page, with what a screen reader says; without code, scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        self.texts += [given[name] for name in ("aria-label", "placeholder", "data-label") if given.get(name)]
        if tag == "input" and given.get("type") == "submit":
            self.texts.append(given.get("value") or "")
        if tag in ("script", "style", "code", "svg", "datalist"):
            self._hidden.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and self._hidden[-1] == tag:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)


def outside(html: str) -> list[str]:
    """Words of a page that no message has."""
    page = Visible()
    page.feed(html)
    text = "\n".join(page.texts)
    while text != (shorter := re.sub(r"⟦[^⟦⟧]*⟧", " ", text)):
        text = shorter
    return [line.strip() for line in text.splitlines() if re.search(r"[A-Za-z]{3}", DATA.sub("", line))]


@pytest.fixture
def bracketed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A language in which each message is itself, in brackets; and no names in code, which other tests give."""
    monkeypatch.setattr(code_rates, "_uses", {})
    real = translation._trans

    def one(message: str) -> str:
        return f"⟦{message}⟧" if message else message

    for name in ("gettext", "ngettext", "pgettext", "npgettext"):
        getattr(real, name)  # loads it, so that it can be put back
    monkeypatch.setattr(real, "gettext", one)
    monkeypatch.setattr(real, "pgettext", lambda context, message: one(message))
    monkeypatch.setattr(real, "ngettext", lambda singular, plural, number: one(singular if number == 1 else plural))
    monkeypatch.setattr(real, "npgettext", lambda context, singular, plural, number: one(singular if number == 1 else plural))


PAGES = (
    "ratewindow_report",
    "ratewindow_state",
    "ratewindow_switch",
    "ratewindow_raterule_changelist",
    "ratewindow_raterule_export",
    "ratewindow_raterule_import",
    "ratewindow_raterule_ready",
    "ratewindow_coverage",
    "ratewindow_explain",
    "ratewindow_history",
    "ratewindow_override_changelist",
    "ratewindow_override_add",
    "ratewindow_override_release",
)


@pytest.mark.django_db
@pytest.mark.parametrize("name", PAGES)
def test_no_page_shows_a_word_outside_a_message(name: str, bracketed: None) -> None:
    RateRule.objects.define("login", "5/m; 20/h", path="/login/")
    RateRule.objects.define("search", "30/m", path="/search/", mode="enforce", enforce_percent=10, penalty="5m")
    Override.objects.block("ip:203.0.113.9", reason="scraping")
    boss = Client()
    boss.force_login(User.objects.create_superuser("boss"))
    page = boss.get(reverse(f"admin:{name}"))
    assert page.status_code == 200
    left = outside(page.content.decode())
    assert [
        text for text in left if not (name in ("ratewindow_coverage", "ratewindow_raterule_ready") and PLACES.fullmatch(text))
    ] == []


@pytest.mark.django_db
def test_no_page_of_one_edit_shows_a_word_outside_a_message(bracketed: None) -> None:
    RateRule.objects.define("login", "5/m", path="/login/")
    boss, edit = Client(), Edit.objects.get(subject="login")
    boss.force_login(User.objects.create_superuser("boss"))
    for page in (
        boss.get(reverse("admin:ratewindow_edit_change", args=[edit.pk])),
        boss.get(reverse("admin:ratewindow_history_restore", args=[edit.pk, "before"])),
    ):
        assert outside(page.content.decode()) == []


def test_words_outside_a_message_are_found() -> None:
    assert outside("<p>⟦Rule ⟦login⟧⟧ Glued on</p>") == ["Glued on"]
