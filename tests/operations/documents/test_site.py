"""The site as a document, and what is no document."""

from typing import Any

import pytest

from ratewindow.models import LimitSwitch, Override, RateRule
from ratewindow.operations.documents.applying import apply
from ratewindow.operations.documents.parsing import DocumentError
from ratewindow.operations.documents.site import check, site
from tests.support.documents import BLOCK, LOGIN, SEARCH, document

pytestmark = pytest.mark.django_db


def test_an_empty_site_is_a_document() -> None:
    assert site() == {"ratewindow": 1, "rules": [], "overrides": [], "switch": {"off": False}}
    assert not LimitSwitch.objects.exists()


def test_rules_are_sorted_by_name_and_overrides_by_all_their_values() -> None:
    apply(document(rules=[SEARCH, LOGIN], overrides=[BLOCK]))
    Override.objects.allow("user:1")
    found = site()
    assert [rule["name"] for rule in found["rules"]] == ["login", "search"]
    assert [override["action"] for override in found["overrides"]] == ["allow", "block"]
    assert list(found) == ["ratewindow", "rules", "overrides", "switch"]


def test_a_section_or_some_rules_are_a_document_too() -> None:
    apply(document(rules=[SEARCH, LOGIN]))
    assert site(["rules"], ["login", "none"]) == document(rules=[LOGIN])
    assert list(site(["switch"])) == ["ratewindow", "switch"]


def test_it_takes_a_few_queries_whatever_there_is(django_assert_num_queries: Any) -> None:
    apply(document(rules=[{**LOGIN, "name": f"rule{number}"} for number in range(20)], overrides=[BLOCK]))
    assert RateRule.objects.count() == 20
    with django_assert_num_queries(4):
        site()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "This is no document of ratewindow"),
        ({"rules": []}, "This is no document of ratewindow"),
        ({"ratewindow": 2}, "ratewindow: 2 is another version of this format: this program reads 1."),
        ({"ratewindow": True}, "is another version"),
        ({"ratewindow": 1, "rule": []}, "rule: there is no such field: did you mean rules?"),
        ({"ratewindow": 1, "rules": {}}, "rules: this is not a list"),
    ],
)
def test_what_is_no_document_is_said(values: Any, message: str) -> None:
    with pytest.raises(DocumentError) as raised:
        check(values)
    assert message in str(raised.value)
