"""`manage.py ratewindow block` and `allow`."""

import pytest
from django.contrib.auth.models import User

from ratewindow.models import Override
from tests.support.commands import define, from_me, run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


class TestBlockAndAllow:
    def test_what_does_not_exist_yet_is_said(self) -> None:
        told = run("block", "group:night", "--rule", "logn")
        assert "There is no rule 'logn' yet: this applies once there is one." in told

    def test_a_secret_is_not_repeated(self) -> None:
        assert "correct-horse" not in run("block", "header:x-api-key:correct-horse-battery")

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (["ann"], "'ann' is no address, and no user has this login name: write for example 203.0.113.9"),
            (["203.0.113.0/33"], "'203.0.113.0/33': an IPv4 network ends in /0 to /32"),
            (["ip:nonsense"], "'nonsense' is neither an address nor a network"),
            (["*"], "This applies to all visitors of the site: name one rule and an end"),
            (["user:42+group:staff"], "'user:42+group:staff' joins a group, which stands alone"),
            (["user:ann"], "'ann' cannot be the primary key of a user: write for example user:42"),
            (["user:42", "--for", "60"], "'60' has no unit: write 60s for seconds"),
            (["user:42", "--rule", "No Name"], "This is not a rule name"),
        ],
    )
    def test_what_is_wrong_is_named_and_nothing_is_saved(self, arguments: list[str], told: str) -> None:
        assert told in wrong("block", *arguments)
        assert told in wrong("allow", *arguments)
        assert not Override.objects.exists()

    def test_what_is_wrong_with_several_options_is_said_once(self) -> None:
        assert wrong("block", "*") == "This applies to all visitors of the site: name one rule and an end."


def test_a_block_holds_and_says_until_when() -> None:
    told = run("block", "ip:203.0.113.9/24", "--for", "1h", "--reason", "scraping")
    assert told.startswith("Blocked ip:203.0.113.0/24, until ")
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


def test_a_user_is_found_by_name() -> None:
    ann = User.objects.create(username="ann", email="ann@example.com")
    assert run("allow", "ann").startswith(f"Exempted user:{ann.pk}, until")
    assert run("block", "ann").startswith(f"Blocked user:{ann.pk}, until")
    assert "1 block ended" in run("release", "ann")
