"""`manage.py ratewindow release`."""

from typing import Any

import pytest
from django.conf import settings
from django.test import RequestFactory, override_settings

import ratewindow
from ratewindow import ratelimit
from ratewindow.models import Override, RateRule
from ratewindow.rulebook import reading
from tests.support.commands import define, from_me, run, wrong

pytestmark = pytest.mark.django_db(transaction=True)


class TestRelease:
    @pytest.mark.parametrize("name", ["release", "reset"])
    def test_a_client_goes_free_of_counts_locks_and_blocks(self, name: str) -> None:
        define("login", "1/h", applies_to="all", penalty="2h")
        define("api", "9/h", applies_to="all", key="user_or_ip")
        define("unused", "9/h")
        assert from_me(3) == [200, 429, 429]
        run("block", "ip:203.0.113.9")
        assert run(name, "ip:203.0.113.9") == "Released ip:203.0.113.9: its counts under api, login deleted, 1 block ended."
        assert from_me(2) == [200, 429]

    def test_of_one_rule_the_others_keep_their_counts_and_blocks(self) -> None:
        define("one", "1/h", applies_to="all")
        define("two", "2/h", applies_to="all")
        from_me(1)
        run("block", "ip:203.0.113.9", "--rule", "two")
        assert run("release", "ip:203.0.113.9", "--rule", "one") == (
            "Released ip:203.0.113.9: its counts under one deleted, 0 blocks ended."
        )
        run("release", "ip:203.0.113.9", "--rule", "two")
        assert from_me(2) == [200, 429]

    def test_a_rate_in_code_is_forgotten_too_and_a_row_in_shadow_beside_it(self) -> None:
        @ratelimit("code.only", "1/h", key="user")
        def view(request: Any) -> Any:
            raise NotImplementedError

        RateRule.objects.define("code.only", "5/h", key="user")
        ratewindow.hit("code.only", "user:42")
        assert "its counts under code.only deleted" in run("release", "user:42")
        assert ratewindow.hit("code.only", "user:42")

    def test_what_was_counted_by_another_rate_is_forgotten_too(self) -> None:
        define("mail", "9/h", key="user")
        Override.objects.rate("user:42", "1/2m", rule="mail")
        assert [ratewindow.hit("mail", "user:42").allowed for _ in range(2)] == [True, False]
        run("release", "user:42")
        assert ratewindow.hit("mail", "user:42").allowed

    def test_several_parts_are_joined_with_a_plus(self) -> None:
        define("login", "1/h", key="ip+header:x-client")
        request = RequestFactory().get("/", REMOTE_ADDR="203.0.113.9", headers={"x-client": "one"})
        ratewindow.hit("login", request)
        assert run("release", "ip:203.0.113.9+header:x-client:one") == (
            "Released ip:203.0.113.9 + header:x-client:one: its counts under login deleted, 0 blocks ended."
        )
        assert ratewindow.hit("login", request)

    def test_what_everybody_has_used_together_is_forgotten(self) -> None:
        define("all", "1/h", applies_to="all", key="global")
        assert from_me(2) == [200, 429]
        run("release", "global")
        assert from_me(1) == [200]

    def test_a_network_has_blocks_and_no_counts(self) -> None:
        run("block", "ip:203.0.113.0/24")
        assert run("release", "ip:203.0.113.0/24") == "Released ip:203.0.113.0/24: no counts deleted, 1 block ended."
        assert run("release", "ip:203.0.113.0/24") == "Released ip:203.0.113.0/24: no counts deleted, 0 blocks ended."
        assert from_me(1) == [200]

    def test_a_secret_is_released_by_whoever_knows_it(self) -> None:
        run("block", "header:x-api-key:correct-horse-battery")
        told = run("release", "header:x-api-key:correct-horse-battery")
        assert "1 block ended" in told
        assert "correct-horse" not in told
        hashed = Override.objects.get().identity
        assert "only a hash" in wrong("release", hashed)

    def test_what_is_wrong_is_named(self) -> None:
        assert "'ann' is no address, and no user has this login name" in wrong("release", "ann")
        assert "there is no rule 'logn'" in wrong("release", "ip:203.0.113.9", "--rule", "logn")

    def test_without_redis_the_blocks_are_ended_all_the_same_and_what_stays_is_said(self) -> None:
        define("login", "1/h", applies_to="all")
        run("block", "ip:203.0.113.9")
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "REDIS": "redis://127.0.0.1:1/0"}):
            told = wrong("release", "ip:203.0.113.9")
        assert told.startswith("Released ip:203.0.113.9: no counts deleted, 1 block ended. Its counts remain, since Redis")
        assert not Override.objects.in_force().exists()
        reading.reload()

    @pytest.mark.parametrize(("then", "now"), [("all", "secrets"), ("secrets", "all"), ("none", "all")])
    @pytest.mark.parametrize("who", ["ip:203.0.113.9", "ip:2001:db8::1", "user:42", "ip:203.0.113.9+header:x-api-key:horse"])
    def test_a_block_is_found_that_was_made_under_another_anonymize(self, who: str, then: str, now: str) -> None:
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": then}):
            run("block", who)
        with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": now}):
            told = run("release", who)
        assert "1 block ended." in told
        assert not Override.objects.in_force().exists()
