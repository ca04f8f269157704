"""The primary keys of users in overrides."""

import pytest
from django.contrib.auth.models import User

from ratewindow.overrides.users import canonical, check_user, found


@pytest.mark.parametrize(("written", "key"), [("1", "1"), (" 01 ", "1"), ("ann", "ann"), ("-1", "-1"), ("1_0", "1_0")])
def test_a_key_is_written_as_in_requests(written: str, key: str) -> None:
    assert canonical(written) == key


@pytest.mark.parametrize("text", ["ann", "-1", "1_0", "4.2", ""])
def test_what_cannot_be_a_key_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="cannot be the primary key of a user: write for example user:42"):
        check_user(text)


@pytest.mark.django_db
def test_a_user_is_looked_up() -> None:
    user = User.objects.create_user("ann")
    assert found(f" {user.pk} ") == user
    assert found(str(user.pk + 1)) is None
    assert found("ann") is None
