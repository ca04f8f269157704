"""The element of a link among the object tools."""

import pytest
from django.apps import apps
from django.template import Context, Template

TOOLS = Template('{% load ratewindow_admin %}{% rw_tool "list" as tool %}{{ tool }} {% rw_tool "form" as tool %}{{ tool }}')


@pytest.mark.parametrize(
    ("theme", "elements"), [("", "li li"), ("grappelli", "li li"), ("unfold", "span li"), ("jazzmin", "span span")]
)
def test_it_is_an_item_where_the_theme_makes_a_list_of_them(theme: str, elements: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "is_installed", lambda name: name == theme)
    assert TOOLS.render(Context()) == elements
