"""What an edit changed is restored, and changes are made all or none."""

from typing import Any

import pytest

from ratewindow.contrib.history import files, values
from ratewindow.contrib.history.models import Edit
from ratewindow.contrib.history.values import ChangedMeanwhile, InvalidValues
from ratewindow.models import LimitSwitch, Override, RateRule, origin
from ratewindow.operations import switch_off
from tests.support.rule_files import LOGIN, SEARCH, make, stored

pytestmark = pytest.mark.django_db(transaction=True)


def define(rate: str = "5/m", name: str = "login", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, **{"overwrite": True, **fields})[0]


def restore(edit: Edit) -> None:
    """Undo this edit."""
    change = values.undoing(edit)
    assert change
    with origin.edits("restore", by="ada", reason="as it was"):
        values.apply([change])


def latest(kind: str = "rule") -> Edit:
    return Edit.objects.filter(kind=kind)[0]


def test_a_rule_is_restored_with_its_limits_and_that_can_be_undone() -> None:
    define("5/m; 20/h", description="for logins")
    define("9/s", mode="enforce", key="user")
    was = stored()
    restore(latest())
    rule = RateRule.objects.get()
    assert (rule.mode, rule.key, [str(each) for each in rule.windows.all()]) == ("shadow", "ip", ["5 in 1m", "20 in 1h"])
    edit = latest()
    assert (edit.way, edit.by, edit.reason, edit.action) == ("restore", "ada", "as it was", "changed")
    restore(edit)
    assert stored() == was


def test_an_expression_is_restored_without_room_for_the_one_that_it_replaces() -> None:
    for name in "abcd":
        define(name=name, regex=f"[a{chr(0x100 + ord(name))}].{{14}}N")
    define(name="c", regex="[az].{14}M")
    restore(latest())
    assert RateRule.objects.get(name="c").pattern.endswith("N")


def test_a_deleted_rule_and_a_deleted_block_come_back() -> None:
    define("5/m; 20/h")
    block = Override.objects.block("header:x-api-key:very-secret", rule="login", reason="abuse")
    was, pk = stored(), block.pk
    RateRule.objects.all().delete()
    block.delete()
    for kind in ("rule", "override"):
        restore(latest(kind))
    assert stored() == was and Override.objects.get().pk == pk


def test_a_block_that_has_ended_is_restored_as_it_was() -> None:
    block = Override.objects.block("user:42", duration="1h")
    Override.objects.get_queryset().filter(pk=block.pk).end()
    ended = Override.objects.get().expires_at
    Override.objects.all().delete()
    restore(latest("override"))
    assert Override.objects.get().expires_at == ended


def test_the_switch_is_restored() -> None:
    switch_off.turn_off(3600, "campaign", "ben")
    was = values.read("switch", "", "default")
    switch_off.turn_on("over", "ben")
    restore(latest("switch"))
    assert values.read("switch", "", "default") == was
    assert switch_off.current().off and switch_off.current().by == "ada"
    assert LimitSwitch.objects.count() == 1


def test_what_has_changed_since_the_preview_is_not_overwritten() -> None:
    define()
    define("6/m")
    change = values.undoing(latest())
    define("7/m")
    with pytest.raises(ChangedMeanwhile):
        values.apply([change])  # type: ignore[list-item]
    assert RateRule.objects.get().windows.get().limit == 7


def test_a_rule_that_somebody_has_added_meanwhile_stays() -> None:
    changes = files.changes([LOGIN])
    define("6/m")
    with pytest.raises(ChangedMeanwhile):
        values.apply(changes)
    assert RateRule.objects.get().windows.get().limit == 6


def test_one_change_that_cannot_be_made_leaves_all_others_undone() -> None:
    make(LOGIN)
    changes = files.changes([{**LOGIN, "cost": 2}, SEARCH])
    changes[1].after["key"] = "nonsense"
    with pytest.raises(InvalidValues, match="search key: "):
        values.apply(changes)
    assert stored() == [LOGIN]


def test_a_rule_that_stays_keeps_its_row_and_since_when_it_has_its_mode() -> None:
    make(LOGIN)
    before = RateRule.objects.get()
    make({**LOGIN, "cost": 2}, SEARCH)
    after = RateRule.objects.get(name="login")
    assert (after.pk, after.mode_since, after.cost) == (before.pk, before.mode_since, 2)
