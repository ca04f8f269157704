"""Any earlier state is restored: of one subject, or of everything."""

import json
import random
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from ratewindow.conf import time_zone
from ratewindow.models import Edit, LimitSwitch, Override, RateRule, origin
from ratewindow.operations import release, switch_off
from ratewindow.operations.documents.applying import Author, SiteChanged
from ratewindow.operations.documents.site import site
from ratewindow.operations.history import restoring
from ratewindow.operations.history.states import State

pytestmark = pytest.mark.django_db(transaction=True)


def define(rate: str = "5/m", name: str = "login", **fields: Any) -> RateRule:
    return RateRule.objects.define(name, rate, **{"overwrite": True, **fields})[0]


def restore(wanted: State) -> None:
    with origin.edits(restoring.WAY, by="ada", reason="as it was"):
        restoring.restore(wanted, restoring.steps(wanted), Author(source="restore", name="ada"))


def latest(kind: str = "rule") -> Edit:
    return Edit.objects.filter(kind=kind).order_by("-at", "-pk")[0]


def exported() -> str:
    return json.dumps(site(), indent=2)


def test_a_rule_is_restored_with_its_limits_and_that_can_be_undone() -> None:
    define("5/m; 20/h", description="for logins")
    define("9/s", mode="enforce", key="user")
    was = exported()
    restore(restoring.before(latest()))
    rule = RateRule.objects.get()
    assert (rule.mode, rule.key, [str(each) for each in rule.windows.all()]) == ("shadow", "ip", ["5 in 1m", "20 in 1h"])
    edit = latest()
    assert (edit.way, edit.by, edit.reason, edit.action) == ("restore", "ada", "as it was", "changed")
    restore(restoring.before(edit))
    assert exported() == was


def test_an_expression_is_restored_without_room_for_the_one_that_it_replaces() -> None:
    for name in "abcd":
        define(name=name, regex=f"[a{chr(0x100 + ord(name))}].{{14}}N")
    define(name="c", regex="[az].{14}M")
    restore(restoring.before(latest()))
    assert RateRule.objects.get(name="c").pattern.endswith("N")


def test_a_deleted_rule_and_a_deleted_block_come_back() -> None:
    define("5/m; 20/h")
    block = Override.objects.block("header:x-api-key:very-secret", rule="login", reason="abuse")
    was, pk = exported(), block.pk
    RateRule.objects.all().delete()
    block.delete()
    for kind in ("rule", "override"):
        restore(restoring.before(latest(kind)))
    assert exported() == was and Override.objects.get().pk == pk


def test_the_switch_is_restored() -> None:
    switch_off.turn_off(3600, "campaign", "ben")
    was = site()["switch"]
    switch_off.turn_on("over", "ben")
    restore(restoring.before(latest("switch")))
    assert site()["switch"] == was
    assert switch_off.current().is_off(time_zone.now().timestamp()) and switch_off.current().by == "ada"
    assert LimitSwitch.objects.count() == 1


def test_a_block_that_was_cleaned_away_stays_away() -> None:
    define()
    Override.objects.create(action="block", identity="ip:192.0.2.1", expires_at=time_zone.now() - timedelta(days=90))
    moment = latest("override").at
    with origin.edits("cleaning", recorded=False):
        Override.objects.all().delete()
    define("6/m")
    restore(restoring.everything_at(moment))
    assert not Override.objects.exists() and RateRule.objects.get().windows.get().limit == 5


def test_what_has_changed_since_the_preview_is_not_overwritten() -> None:
    define()
    define("6/m")
    wanted = restoring.before(latest())
    shown = restoring.steps(wanted)
    define("7/m")
    with pytest.raises(SiteChanged):
        restoring.restore(wanted, shown, Author())
    assert RateRule.objects.get().windows.get().limit == 7


class Walk:
    """Random edits by every way, each with the export of the site that it left."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.points: list[tuple[datetime, str]] = []

    def step(self) -> None:
        before = Edit.objects.count()
        self.dice.choice(self.ways())()
        if Edit.objects.count() > before:
            self.points.append((Edit.objects.order_by("-at", "-pk")[0].at, exported()))

    def ways(self) -> list[Callable[[], object]]:
        return [
            *(self.define, self.save_rule, self.save_limit, self.delete_limit, self.add_limit, self.many_at_once),
            *(self.block, self.change_block, self.end_blocks, self.switch, self.release),
            *([self.delete_rule] if self.dice.random() < 0.4 else []),
            *([self.delete_block] if self.dice.random() < 0.4 else []),
            *([self.restore] if self.points and self.dice.random() < 0.3 else []),
        ]

    def name(self) -> str:
        return self.dice.choice(["login", "search", "api", "export.minute"])

    def rate(self) -> str:
        number = self.dice.randint
        return self.dice.choice([f"{number(1, 9)}/m", f"{number(1, 9)}/s; {number(9, 99)}/h", f"{number(1, 9)}/2h30m"])

    def a_rule(self) -> RateRule | None:
        return RateRule.objects.filter(name=self.name()).first()

    def a_block(self) -> Override | None:
        pks = list(Override.objects.values_list("pk", flat=True))
        return Override.objects.get(pk=self.dice.choice(pks)) if pks else None

    def define(self) -> None:
        fields = self.dice.choice(
            [{}, {"path": "/login/"}, {"mode": "enforce"}, {"description": 'né "1"\n: - \U0001f600'}, {"cost": 3}]
        )
        RateRule.objects.define(self.name(), self.rate(), overwrite=self.dice.random() < 0.5, **fields)

    def save_rule(self) -> None:
        if rule := self.a_rule():
            rule.mode = self.dice.choice(["shadow", "enforce", "off"])
            rule.penalty = self.dice.choice([None, timedelta(minutes=self.dice.randint(1, 90))])
            rule.save(update_fields=self.dice.choice([None, ["mode"], ["penalty"]]))

    def save_limit(self) -> None:
        if (rule := self.a_rule()) and (window := rule.windows.first()):
            window.limit = self.dice.randint(1, 99)
            window.save()

    def delete_limit(self) -> None:
        if (rule := self.a_rule()) and (window := rule.windows.first()):
            window.delete()

    def add_limit(self) -> None:
        if rule := self.a_rule():
            rule.windows.get_or_create(period=timedelta(days=1), algorithm="token_bucket", defaults={"limit": 50, "burst": 9})

    def delete_rule(self) -> None:
        RateRule.objects.filter(name=self.name()).delete()

    def many_at_once(self) -> None:
        with transaction.atomic():
            for _ in range(self.dice.randint(1, 4)):
                try:
                    with transaction.atomic():
                        self.dice.choice([self.define, self.save_rule, self.delete_limit, self.block, self.change_block])()
                        if self.dice.random() < 0.3:
                            raise RuntimeError("a savepoint that is rolled back")
                except RuntimeError:
                    continue
            if self.dice.random() < 0.2:
                transaction.set_rollback(True)

    def block(self) -> None:
        number = self.dice.randint(1, 3)
        identity = self.dice.choice([f"ip:192.0.2.{number}", f"user:{number}", f"header:x-api-key:secret{number}"])
        maker = self.dice.choice([Override.objects.block, Override.objects.allow])
        maker(identity, rule=self.dice.choice(["", "login"]), duration=self.dice.choice([None, "1h"]), reason="abuse")

    def change_block(self) -> None:
        if block := self.a_block():
            block.reason = self.dice.choice(["abuse", "a mistake", ""])
            block.action, block.rule = self.dice.choice(["block", "allow"]), self.dice.choice(["", "login"])
            block.expires_at = time_zone.now() + timedelta(hours=self.dice.randint(1, 9))
            block.save()

    def end_blocks(self) -> None:
        Override.objects.get_queryset().filter(action="block", identity__startswith="ip:").end()

    def delete_block(self) -> None:
        if block := self.a_block():
            block.delete()

    def switch(self) -> None:
        if self.dice.random() < 0.5:
            switch_off.turn_off(self.dice.choice([None, 3600]), f"campaign {self.dice.randint(1, 9)}", "ben")
        else:
            switch_off.turn_on("", "ben")

    def release(self) -> None:
        release.release(f"ip:192.0.2.{self.dice.randint(1, 3)}")

    def restore(self) -> None:
        restore(restoring.everything_at(self.dice.choice(self.points)[0]))


def made(seed: int) -> Walk:
    walk = Walk(seed)
    while len(walk.points) < 500:
        walk.step()
    return walk


def check(points: Iterable[tuple[datetime, str]]) -> None:
    for moment, text in points:
        restore(restoring.everything_at(moment))
        assert exported() == text


def test_restoring_a_point_of_500_edits_gives_the_export_of_that_point() -> None:
    walk = made(seed=1)
    check(walk.dice.sample(walk.points, 25))


@pytest.mark.long
@pytest.mark.parametrize("seed", [2, 3])
def test_restoring_any_point_of_500_edits_gives_the_export_of_that_point(seed: int) -> None:
    """Leap to any, and go on through its neighbours, forth or back: to leap each time would take three times as long."""
    walk = made(seed)
    for first in walk.dice.sample(range(0, 500, 5), 100):
        check(walk.points[first : first + 5][:: walk.dice.choice([1, -1])])
