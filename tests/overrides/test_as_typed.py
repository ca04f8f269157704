"""What people type for a client, and what is understood."""

import pytest
from django.contrib.auth.models import Group, User

from ratewindow.overrides import users
from ratewindow.overrides.subjects import as_subject
from tests.support.worst_strings import WORST

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("typed", "subject"),
    [
        (" 203.0.113.9 ", "ip:203.0.113.9"),
        ("203.0.113.0/24", "ip:203.0.113.0/24"),
        ("2001:db8::1", "ip:2001:db8::1"),
        ("[2001:db8::1]:443", "ip:[2001:db8::1]:443"),
        ("::1", "ip:::1"),
        ("203.0.113.9:8080", "ip:203.0.113.9:8080"),
        ("203.0.113.9+post:username:ann", "ip:203.0.113.9+post:username:ann"),
        ("user:42", "user:42"),
        ("user:ann", "user:ann"),
        ("group:night shift", "group:night shift"),
        ("*", "*"),
        ("global", "global"),
    ],
)
def test_an_address_needs_no_kind_and_what_names_a_client_stays(typed: str, subject: str) -> None:
    assert as_subject(typed) == subject


@pytest.fixture
def ann() -> User:
    return User.objects.create(username="ann.smith", email="ann+news@example.com")


@pytest.mark.parametrize("typed", ["ann.smith", " ann.smith "])
def test_a_user_is_found_by_login_name(ann: User, typed: str) -> None:
    assert as_subject(typed) == f"user:{ann.pk}"


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("", "'' is no address, and no user has this login name: write for example 203.0.113.9"),
        ("bob", "'bob' is no address, and no user has this login name: write for example 203.0.113.9"),
        ("203.0.113.0/33", "'203.0.113.0/33': an IPv4 network ends in /0 to /32"),
        ("203.0.113.300", "'203.0.113.300' is no address, and no user has"),
        ("2001:db8::/200", "'2001:db8::/200': an IPv6 network ends in /0 to /128"),
        ("shoe:42", "'shoe' is not a key: choose from ip, user"),
        ("203.0.113.9+user:", "'203.0.113.9+user:' is not an address"),
    ],
)
def test_what_is_wrong_is_said_with_the_remedy(typed: str, told: str) -> None:
    Group.objects.create(name="night")
    with pytest.raises(ValueError) as raised:
        as_subject(typed)
    assert told in str(raised.value)


def test_without_users_no_text_is_the_number_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "model", lambda: None)
    for typed in ("bob", "42"):
        with pytest.raises(ValueError, match=f"'{typed}' is no address, and no user has this login name"):
            as_subject(typed)


def test_who_may_not_see_users_learns_nothing_of_them(ann: User) -> None:
    User.objects.create(username="bob", email=ann.email)
    for typed in ("ann.smith", ann.email, "nobody"):
        with pytest.raises(ValueError, match="by login name you need the permission to view users"):
            as_subject(typed, find_users=False)
    with pytest.raises(ValueError, match="you need the permission"):
        as_subject(str(ann.pk), find_users=False)


def test_any_text_names_a_client_or_is_an_error(ann: User) -> None:
    assert all(_answer(text).isprintable() for text in WORST if text.isprintable())
    assert all(map(_answer, WORST))


def _answer(text: str) -> str:
    try:
        return as_subject(text)
    except ValueError as error:
        return str(error)
