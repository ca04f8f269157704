"""The element of a link among the object tools."""

import pytest
from django.apps import apps
from django.template import Context, Template

TOOL = Template("{% load ratewindow_tools %}{% rw_tool as tool %}{{ tool }}")


@pytest.mark.parametrize(("theme", "element"), [("", "li"), ("grappelli", "li"), ("unfold", "span"), ("jazzmin", "span")])
def test_it_is_an_item_where_the_theme_makes_a_list_of_them(theme: str, element: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apps, "is_installed", lambda name: name == theme)
    assert TOOL.render(Context()) == element
