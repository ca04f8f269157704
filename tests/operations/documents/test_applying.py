"""A document becomes the site: all of it or nothing, only rows that differ, and exactly what was exported."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.signals import post_delete, post_save
from hypothesis import HealthCheck, given, settings

from ratewindow.models import LimitSwitch, Override, RateRule, RuleWindow
from ratewindow.operations import switch_off
from ratewindow.operations.documents import text
from ratewindow.operations.documents.applying import Author, SiteChanged, apply, preview
from ratewindow.operations.documents.parsing import DocumentError
from ratewindow.operations.documents.site import Document, site
from ratewindow.rulebook import current
from tests.support import documents
from tests.support.documents import BLOCK, EXEMPTION, LOGIN, OFF, SEARCH, document

pytestmark = pytest.mark.django_db

MODELS = (RateRule, RuleWindow, Override, LimitSwitch)


@pytest.fixture
def edited() -> Iterator[list[str]]:
    """What signals announce."""
    found: list[str] = []

    def saved(sender: Any, created: bool, **_: Any) -> None:
        found.append(f"{'add' if created else 'change'} {sender.__name__}")

    def deleted(sender: Any, **_: Any) -> None:
        found.append(f"delete {sender.__name__}")

    for model in MODELS:
        post_save.connect(saved, sender=model)
        post_delete.connect(deleted, sender=model)
    yield found
    for model in MODELS:
        post_save.disconnect(saved, sender=model)
        post_delete.disconnect(deleted, sender=model)


def wipe() -> None:
    for model in MODELS:
        model.objects.all().delete()


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(one=documents.sites(), other=documents.sites())
def test_a_site_is_what_was_exported_of_it_byte_for_byte(one: Document, other: Document, edited: list[str]) -> None:
    with transaction.atomic():
        wipe()
        apply(one, exact=True)
        exported = {syntax: text.to_bytes(site(), syntax) for syntax in text.SYNTAXES}
        assert site() == one
        apply(other, exact=True)
        assert site() == other
        for written in exported.values():
            wipe()
            apply(text.from_bytes(written), exact=True)
            assert {syntax: text.to_bytes(site(), syntax) for syntax in text.SYNTAXES} == exported
        edited.clear()
        assert apply(one, exact=True) == () and edited == []
        apply(other)
        edited.clear()
        assert apply(other) == () and edited == []
        transaction.set_rollback(True)


def test_only_rows_that_differ_are_saved(edited: list[str]) -> None:
    apply(document(rules=[LOGIN, SEARCH], overrides=[BLOCK, EXEMPTION], switch={"off": False}))
    edited.clear()
    first, second = LOGIN["limits"]
    apply(document(rules=[{**LOGIN, "limits": [first, {**second, "limit": 30}]}, SEARCH], overrides=[BLOCK, EXEMPTION]))
    assert edited == ["change RuleWindow"]


def test_an_override_that_stays_keeps_its_row() -> None:
    ann = User.objects.create_user("ann")
    made = Override.objects.block("ip:203.0.113.0/24", reason="scrapers", created_by=ann, source="admin")
    apply(document(overrides=[{**BLOCK, "reason": "worse ones"}, EXEMPTION]), exact=True, author=Author("command"))
    kept, added = Override.objects.order_by("pk")
    assert (kept.pk, kept.created_by, kept.source, kept.reason) == (made.pk, ann, "admin", "worse ones")
    assert (added.created_by, added.source) == (None, "command")


def test_what_a_document_lacks_stays_unless_the_site_is_to_be_exactly_that() -> None:
    apply(document(rules=[LOGIN], overrides=[BLOCK]))
    apply(document(rules=[SEARCH], overrides=[EXEMPTION]))
    assert site(["rules"])["rules"] == [LOGIN, SEARCH] and Override.objects.count() == 2
    apply(document(rules=[SEARCH]), exact=True)
    assert site(["rules"])["rules"] == [SEARCH]
    assert Override.objects.count() == 2, "a section that the document lacks is not concerned"


def test_with_only_some_rules_nothing_else_is_concerned() -> None:
    apply(document(rules=[LOGIN, SEARCH], overrides=[BLOCK]))
    changed = {**LOGIN, "cost": 2}
    apply(document(rules=[changed, {**SEARCH, "cost": 2}], overrides=[], switch=OFF), exact=True, only=["login"])
    assert site() == document(rules=[changed, SEARCH], overrides=[BLOCK], switch={"off": False})
    apply(document(rules=[]), exact=True, only=["login"])
    assert site(["rules"])["rules"] == [SEARCH]


def test_a_document_with_one_mistake_changes_nothing(edited: list[str]) -> None:
    apply(document(rules=[LOGIN]))
    edited.clear()
    with pytest.raises(DocumentError) as raised:
        apply(document(rules=[{**SEARCH, "cost": "one"}, {**LOGIN, "cost": 2}], overrides=[{**BLOCK, "rate": "5/m"}]), exact=True)
    assert len(raised.value.problems) == 2 and edited == []


@pytest.mark.parametrize("pattern", ["^/([a-z]{1,%d}/)?x", "x%d.*y"])
def test_expressions_have_room_together_with_the_stored_ones_and_with_each_other(pattern: str) -> None:
    apply(document(rules=[{**SEARCH, "applies_to": "regex", "pattern": "^/shop/.*/reviews$"}]))
    rules = [{**LOGIN, "name": f"r{number}", "applies_to": "regex", "pattern": pattern % number} for number in range(20, 70)]
    with pytest.raises(DocumentError) as raised:
        apply(document(rules=rules))
    first = raised.value.problems[0]
    place = 50 - len(raised.value.problems)
    assert first.startswith(f'rules[{place}] "r{20 + place}": pattern: ')
    assert f"is too large together with the other {place + 1} expressions of its kind" in first
    assert len(apply(document(rules=rules[:place]))) == place
    assert not apply(document(rules=rules[:place]))


def free(name: str, ending: str = "N") -> dict[str, Any]:
    """A rule whose expression has room beside three others of its kind, not four."""
    return {**LOGIN, "name": name, "applies_to": "regex", "pattern": f"[a{chr(0x100 + ord(name))}].{{14}}{ending}"}


def test_an_expression_needs_no_room_beside_the_one_that_it_replaces() -> None:
    apply(document(rules=[free(name) for name in "abcd"]))
    apply(document(rules=[free("c", "M")]))
    assert RateRule.objects.get(name="c").pattern.endswith("M")


def test_an_expression_needs_no_room_beside_those_of_rules_that_go_or_change() -> None:
    apply(document(rules=[free(name) for name in "abcd"]))
    path = {**LOGIN, "name": "a", "applies_to": "path", "pattern": "/a/"}
    apply(document(rules=[free("e"), path]))
    apply(document(rules=[free(name) for name in "efgh"]), exact=True)
    apply(document(rules=[free(name) for name in "abcd"]), exact=True, only=list("abcdefgh"))
    with pytest.raises(DocumentError, match="too large together with the other 4 expressions"):
        apply(document(rules=[free("e")]), exact=True, only=["e"])
    assert [*RateRule.objects.values_list("name", flat=True)] == [*"abcd"]


def test_a_failure_while_saving_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    apply(document(rules=[LOGIN]))

    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(Override, "save", fail)
    with pytest.raises(RuntimeError):
        apply(document(rules=[SEARCH], overrides=[BLOCK], switch=OFF), exact=True)
    assert site() == document(rules=[LOGIN], overrides=[], switch={"off": False})
    assert not switch_off.current().off


def test_the_site_must_be_as_it_was_shown() -> None:
    changes = preview(document(rules=[LOGIN]))
    apply(document(rules=[{**LOGIN, "cost": 2}]))
    with pytest.raises(SiteChanged):
        apply(document(rules=[LOGIN]), expected=changes)
    assert RateRule.objects.get().cost == 2
    apply(document(rules=[LOGIN]), expected=preview(document(rules=[LOGIN])))
    assert RateRule.objects.get().cost == 1


@pytest.mark.django_db(transaction=True)
def test_the_switch_acts_at_once_and_in_redis() -> None:
    apply(document(switch=OFF), author=Author(name="ann"))
    assert switch_off.current().off and switch_off.current().by == "ann" and switch_off.current().reason == "a campaign"
    LimitSwitch.objects.all().delete()
    assert switch_off.current().off, "Redis knows it, too"


@pytest.mark.django_db(transaction=True)
def test_rules_that_are_applied_act_in_this_process_at_once() -> None:
    apply(document(rules=[LOGIN]))
    assert current.rulebook().by_name["login"].mode == "enforce"


def test_an_identity_stored_under_another_setting_is_the_same(settings: Any) -> None:
    made = Override.objects.block("session:abcdefgh")
    assert "abcdefgh" not in made.identity
    assert apply(document(overrides=[{"action": "block", "identity": "session:abcdefgh"}]), exact=True) == ()
    settings.RATEWINDOW = {**settings.RATEWINDOW, "ANONYMIZE": "none"}
    assert apply(document(overrides=[{"action": "block", "identity": "session:abcdefgh"}]), exact=True) == ()
    assert Override.objects.get().pk == made.pk


def test_a_block_that_has_ended_can_be_restored() -> None:
    ended = {**BLOCK, "expires_at": "2020-01-31T12:00:00Z"}
    apply(document(overrides=[ended]))
    assert site(["overrides"])["overrides"] == [ended]


def test_a_name_twice_is_a_mistake() -> None:
    with pytest.raises(DocumentError, match=r'rules\[1\] "login": this name occurs twice: keep one of them.'):
        apply(document(rules=[LOGIN, {**LOGIN, "cost": 2}]))
