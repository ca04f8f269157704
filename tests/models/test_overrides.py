"""Blocks and exemptions: what is valid in a row, and what it says of itself."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.utils import timezone

from ratewindow.models import Override

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("identity", ["user:ann", "user:-1", "user:1_0", "user:4.2", "ip:203.0.113.9+user:ann"])
def test_a_block_of_what_can_be_no_user_is_refused_with_the_remedy(identity: str) -> None:
    with pytest.raises(ValidationError) as raised:
        Override.objects.block(identity)
    assert "write for example user:42" in str(raised.value)


def test_it_is_waiting_in_force_or_ended() -> None:
    now = timezone.now()
    begun = [now + timedelta(minutes=minutes) for minutes in (1, -1, -60)]
    states = [Override(starts_at=at, expires_at=at + timedelta(hours=1)).state for at in begun]
    assert states == ["waiting", "in force", "ended"]


def test_its_text_is_its_number_which_all_may_read() -> None:
    made = Override.objects.block("ip:203.0.113.9", rule="login")
    assert str(made) == f"block {made.pk}"


@pytest.mark.parametrize(
    ("reason", "kept"),
    [("a trial", "a trial"), ("deploy\nState: no problems.\u2028x", "deploy State: no problems. x"), (None, "")],
)
def test_its_reason_is_one_line(reason: str | None, kept: str) -> None:
    assert Override.objects.block("user:7", reason=reason).reason == kept


@pytest.mark.parametrize("identity", ["user:{pk}", "group:night"])
def test_a_block_of_its_author_is_refused(identity: str) -> None:
    author = User.objects.create_user("ann")
    author.groups.add(Group.objects.create(name="night"))
    with pytest.raises(ValidationError, match="This block contains you"):
        Override.objects.block(identity.format(pk=author.pk), created_by=author)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"duration": "1h"}, "name one rule and an end"),
        ({"rule": "login"}, "name one rule and an end"),
        ({"rule": "login", "duration": "-1h"}, "expires_at"),
    ],
)
def test_one_for_everybody_needs_a_rule_and_an_end(fields: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Override.objects.block("*", **fields)  # type: ignore[arg-type]
