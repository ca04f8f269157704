"""The menu of rules looks as Django's own."""

import pytest
from django import forms
from django.test import SimpleTestCase

from ratewindow.admin.report.form import RuleSelect

CHOICES = [("", "All rules"), ("login", "login"), ("a&b", '<b>"a"</b>'), ("1", "one")]


@pytest.mark.parametrize("value", [None, "", "login", "a&b", 1, "none of them"])
def test_a_menu_of_rules_is_the_markup_of_a_select(value: object) -> None:
    attrs = {"id": "id_rule", "aria-describedby": 'a "b"', "disabled": True}
    menu, select = (kind(choices=CHOICES).render("rule", value, attrs) for kind in (RuleSelect, forms.Select))
    SimpleTestCase().assertHTMLEqual(menu, select)
    assert menu.count(" selected") <= 1
