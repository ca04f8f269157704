"""What differs between two documents, as text and for templates."""

from hypothesis import given, settings

from ratewindow.operations.documents.differences import ADDED, CHANGED, REMOVED, differences, in_text, paired
from ratewindow.operations.documents.site import Document
from tests.support import documents
from tests.support.documents import BLOCK, EXEMPTION, LOGIN, OFF, SEARCH, document


def test_fields_are_compared_one_by_one_and_limits_by_period_and_algorithm() -> None:
    first, second = LOGIN["limits"]
    longer = {**second, "period": "2h"}
    after = {**LOGIN, "cost": 2, "limits": [{**first, "limit": 7}, longer]}
    del after["penalty"]
    (change,) = differences(document(rules=[LOGIN]), document(rules=[after]))
    assert (change.kind, change.what, change.name) == (CHANGED, "rule", "login")
    assert str(change).splitlines() == [
        "~ rule login",
        "    cost: 1 -> 2",
        "    penalty: 15m -> none",
        "    limit 1m sliding_window, limit: 5 -> 7",
        "    limit 1h sliding_window, limit: 20 -> none",
        "    limit 2h sliding_window, limit: none -> 20",
    ]


def test_what_is_added_and_removed_is_listed_with_what_is_written_of_it() -> None:
    found = differences(document(rules=[SEARCH], overrides=[]), document(rules=[], overrides=[EXEMPTION]))
    assert [(change.kind, change.title) for change in found] == [
        (REMOVED, "rule search"),
        (ADDED, "override allow user:42 (login)"),
    ]
    assert "    expires_at: 2030-01-31T12:00:00Z" in in_text(found)


def test_a_default_that_is_written_is_no_difference() -> None:
    assert differences(document(rules=[LOGIN]), document(rules=[{**LOGIN, "cost": 1, "message": ""}])) == ()


def test_sections_that_one_document_lacks_are_not_compared() -> None:
    assert differences(document(rules=[LOGIN], switch=OFF), document(overrides=[BLOCK])) == ()


def test_the_switch_is_compared() -> None:
    (change,) = differences(document(switch={"off": False}), document(switch=OFF))
    assert change.title == "switch" and [field.field for field in change.fields] == ["off", "until", "reason"]


def test_an_override_with_other_values_is_the_same_one_and_equal_ones_are_paired_first() -> None:
    ends, later = {**BLOCK, "expires_at": "2030-01-01T00:00:00Z"}, {**BLOCK, "expires_at": "2031-01-01T00:00:00Z"}
    assert list(paired([BLOCK, ends], [ends, later])) == [(ends, ends), (BLOCK, later)]
    assert list(paired([BLOCK, BLOCK], [BLOCK])) == [(BLOCK, BLOCK), (BLOCK, None)]


def test_text_that_cannot_be_printed_is_escaped() -> None:
    (change,) = differences(document(rules=[LOGIN]), document(rules=[{**LOGIN, "description": "a\x1b[31mb\nc"}]))
    assert str(change).splitlines()[1] == r'    description: "" -> "a\u001b[31mb\nc"'


@settings(max_examples=50, deadline=None)
@given(documents.sites(), documents.sites())
def test_there_are_none_to_itself_and_the_way_back_is_the_reverse(one: Document, other: Document) -> None:
    assert differences(one, one) == ()
    there, back = differences(one, other), differences(other, one)
    assert {(each.title, each.kind == ADDED, each.kind == REMOVED) for each in there} == {
        (each.title, each.kind == REMOVED, each.kind == ADDED) for each in back
    }
