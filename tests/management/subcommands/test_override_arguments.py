"""What `manage.py ratewindow block` and `allow` share."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import override_settings

from ratewindow.models import Override
from tests.support.commands import run, wrong

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
            (["203.0.113.9"], "'203.0.113.9' is not an identity: write its kind and value"),
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
