"""Changes as the admin's forms would say them."""

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.test import RequestFactory

from ratewindow.admin.history.changes_in_words import Line, shown
from ratewindow.operations.documents.differences import differences
from tests.support.documents import BLOCK, LOGIN, OFF, document

pytestmark = pytest.mark.django_db


def test_fields_and_choices_have_their_names_in_the_form() -> None:
    request = RequestFactory().get("/")
    request.user = User(is_superuser=True, is_active=True)
    first, second = LOGIN["limits"]
    after = {**LOGIN, "mode": "off", "normalise": True, "limits": [{**first, "limit": 7}, second]}
    old = document(rules=[LOGIN], overrides=[], switch={"off": False})
    rule, block, switch = shown(request, differences(old, document(rules=[after], overrides=[BLOCK], switch=OFF)))
    assert (rule.kind, rule.title) == ("changed", "Rule login")
    assert rule.lines == [
        Line("Mode", "Enforce", "Off"),
        Line("Ignore case and blanks", "No", "Yes"),
        Line("Limit in 1m", "5", "7"),
    ]
    assert (block.kind, block.title) == ("added", "Block: ip:203.0.113.0/24")
    assert switch.title == "Switch of all limits" and switch.lines[0] == Line("Off", "No", "Yes")


def test_who_may_not_see_identities_sees_them_masked() -> None:
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    blocked = {**BLOCK, "identity": "ip:203.0.113.9"}
    (block,) = shown(request, differences(document(overrides=[]), document(overrides=[blocked])))
    assert block.title == "Block: ip:203.0.113.x"
