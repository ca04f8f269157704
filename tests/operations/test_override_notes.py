"""What is said of a block or an exemption that may not be what was meant."""

from typing import Any

import pytest
from django.contrib.auth.models import Group, User

from ratewindow.models import Override
from ratewindow.operations.override_notes import notes
from ratewindow.rulebook import reading

pytestmark = pytest.mark.django_db


def said_of(identity: str, **fields: Any) -> list[str]:
    reading.reload()
    override = Override(identity=identity, **{"action": "block", **fields})
    return list(notes(override, identity))


@pytest.mark.parametrize("exempt", ["ip:203.0.113.9", "ip:203.0.113.0/24"])
def test_an_exemption_that_outweighs_a_block_is_said(exempt: str) -> None:
    Override.objects.allow(exempt, reason="our office")
    assert said_of("ip:203.0.113.9") == [f"This has no effect until somebody ends it, since {exempt} is exempt: our office."]
    assert said_of("ip:203.0.113.9", action="rate", rate="5/m") != []
    assert said_of("ip:203.0.113.9", action="allow") == []
    assert said_of("ip:198.51.100.9") == []


def test_a_network_wider_than_the_exemption_is_blocked() -> None:
    Override.objects.allow("ip:203.0.113.9")
    assert said_of("ip:203.0.113.0/24") == []


def test_an_exemption_from_one_rule_outweighs_blocks_of_that_rule() -> None:
    Override.objects.allow("user:42", rule="demo.limited")
    User.objects.create(pk=42, username="ann")
    assert said_of("user:42") == []
    assert said_of("user:42", rule="demo.limited") == ["This has no effect until somebody ends it, since user:42 is exempt."]


def test_so_does_the_exemption_of_a_group() -> None:
    ann = User.objects.create(username="ann")
    ann.groups.add(Group.objects.create(name="night"))
    Override.objects.allow("group:night", duration="1h")
    assert said_of(f"user:{ann.pk}")[0].endswith("since group:night is exempt.")
    assert said_of("group:night")[0].endswith("since group:night is exempt.")


def test_an_exemption_that_has_ended_is_not() -> None:
    Override.objects.allow("ip:203.0.113.9", duration="1h")
    Override.objects.get_queryset().end()
    assert said_of("ip:203.0.113.9") == []


def test_it_is_not_said_to_who_may_not_be_told_of_others() -> None:
    Override.objects.allow("ip:203.0.113.9")
    reading.reload()
    block = Override(action="block", identity="ip:203.0.113.9")
    assert len([*notes(block, block.identity)]) == 1 and not [*notes(block, block.identity, of_others=False)]
