"""`manage.py ratewindow block` and `allow`."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import override_settings

from ratewindow.models import Override
from tests.support.commands import define, from_me, run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


class TestBlockAndAllow:
    def test_what_does_not_exist_yet_is_said(self) -> None:
        told = run("block", "group:night", "--rule", "logn")
        assert "There is no rule 'logn' yet: this applies once there is one." in told
        assert "There is no group 'night' yet: this applies once there is one." in told

    def test_a_secret_is_not_repeated(self) -> None:
        assert "correct-horse" not in run("block", "header:x-api-key:correct-horse-battery")

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["ann"], "'ann' is no address, and no user has this login name or e-mail address: write for example 203.0.113.9"),
            (["203.0.113.0/33"], "'203.0.113.0/33': an IPv4 network ends in /0 to /32."),
            (["ip:nonsense"], "'nonsense' is neither an address nor a network"),
            (["*"], "This applies to all visitors of the site: name one rule and an end"),
            (["user:ann"], "'ann' cannot be the number of a user: write for example user:42"),
            (["user:42+group:staff"], "a group cannot be joined with +: write group:NAME alone"),
            (["group:staff+ip:203.0.113.9"], "a group cannot be joined with +"),
            (["user:42", "--for", "60"], "'60' has no unit: write 60s for seconds"),
            (["user:42", "--rule", "No Name"], "This is not a rule name"),
        ],
    )
    def test_what_is_wrong_is_named_and_nothing_is_saved(self, arguments: list[str], told: str) -> None:
        assert told in wrong("block", *arguments)
        assert told in wrong("allow", *arguments)
        assert not Override.objects.exists()

    def test_what_is_wrong_with_several_options_is_said_once_with_their_names(self) -> None:
        told = "--rule and --for: This applies to all visitors of the site: name one rule and an end."
        assert wrong("block", "*") == told

    def test_a_user_that_does_not_exist_is_said(self) -> None:
        known = User.objects.create(username="ann")
        assert "No user has the primary key '999999': this applies to nobody until one has." in run("block", "user:999999")
        assert "No user" not in run("block", f"user:{known.pk}")
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "all"}):
            assert "No user has the primary key '999998'" in run("block", "user:999998")


def test_a_block_holds_and_says_until_when() -> None:
    told = run("block", "ip:203.0.113.9/24", "--for", "1h", "--reason", "scraping")
    assert told.startswith("Blocked ip:203.0.113.0/24, until 20")
    assert from_me(1) == [429]
    made = Override.objects.get()
    assert (made.action, made.source, made.reason, made.created_by) == ("block", "command", "scraping", None)


def test_everybody_can_be_blocked_from_one_rule_for_a_while() -> None:
    define("signup", "9/m", applies_to="all")
    run("block", "*", "--rule", "signup", "--for", "1h")
    assert from_me(1) == [429]


def test_an_exemption_holds_until_somebody_releases_it() -> None:
    define("login", "0/m", applies_to="all")
    assert run("allow", "ip:203.0.113.9", "--rule", "login") == (
        "Exempted ip:203.0.113.9 from rule login, until somebody ends it."
    )
    assert from_me(2) == [200, 200]


@pytest.mark.parametrize(("written", "kept"), [("203.0.113.9", "ip:203.0.113.9"), ("2001:db8::/32", "ip:2001:db8::/32")])
def test_an_address_needs_no_kind(written: str, kept: str) -> None:
    assert run("block", written).startswith(f"Blocked {kept}, until somebody ends it.")
    assert "1 block ended" in run("release", written)


def test_a_user_is_found_by_name_or_address() -> None:
    ann = User.objects.create(username="ann", email="ann@example.com")
    assert run("allow", "ann").startswith(f"Exempted user:{ann.pk}, until")
    assert run("block", "Ann@Example.com").startswith(f"Blocked user:{ann.pk}, until")
    assert "1 block ended" in run("release", "ann")
    User.objects.create(username="bob", email="ann@example.com")
    told = wrong("block", "ann@example.com")
    assert f"of several users: write one of user:{ann.pk} (ann, ann@example.com), user:{ann.pk + 1} (bob" in told
    assert wrong("release", "ann@example.com") == f"Not released: {told.rstrip('.')}"
