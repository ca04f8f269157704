"""Blocks, exemptions and other rates where code names a rule."""

from typing import Any

import pytest
from django.test import RequestFactory

import ratewindow
from ratewindow.models import Override
from tests.support.overridden import ME, define

pytestmark = pytest.mark.django_db(transaction=True)

is_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


@is_async
class TestByName:
    def call(self, is_async: bool, name: str, *arguments: Any, **options: Any) -> Any:
        import asyncio

        if is_async:
            return asyncio.run(getattr(ratewindow, f"a{name}")(*arguments, **options))
        return getattr(ratewindow, name)(*arguments, **options)

    def test_an_identity_is_blocked_let_pass_and_held_to_another_rate(self, is_async: bool) -> None:
        define("mail", "1/h", key="user")
        Override.objects.block("user:41")
        Override.objects.allow("user:42")
        Override.objects.rate("user:43", "2/h", rule="mail")
        told = {who: [self.call(is_async, "hit", "mail", f"user:{who}") for _ in range(3)] for who in (41, 42, 43, 44)}
        assert {who: [each.allowed for each in decisions] for who, decisions in told.items()} == {
            41: [False, False, False],
            42: [True, True, True],
            43: [True, True, False],
            44: [True, False, False],
        }
        assert (told[41][0].reason, told[41][0].rule) == ("block", "mail")
        assert self.call(is_async, "peek", "mail", "user:41").reason == "block"

    def test_a_request_too(self, is_async: bool) -> None:
        define("mail", "1/h")
        Override.objects.block("ip:203.0.113.0/24")
        assert self.call(is_async, "hit", "mail", RequestFactory().get("/", REMOTE_ADDR=ME)).reason == "block"

    def test_what_is_blocked_is_blocked_under_any_name(self, is_async: bool) -> None:
        Override.objects.block("user:41")
        assert self.call(is_async, "hit", "unknown", "user:41").reason == "block"
        assert self.call(is_async, "hit", "unknown", "user:42").allowed

    def test_force_admits_who_is_blocked(self, is_async: bool) -> None:
        define("mail", "1/h")
        Override.objects.block("user:41")
        assert self.call(is_async, "hit", "mail", "user:41", force=True).allowed

    def test_units_are_given_back_where_they_were_charged(self, is_async: bool) -> None:
        define("mail", "1/h")
        Override.objects.rate("user:43", "2/m", rule="mail")
        for _ in range(2):
            self.call(is_async, "hit", "mail", "user:43")
        self.call(is_async, "refund", "mail", "user:43")
        assert self.call(is_async, "peek", "mail", "user:43").remaining == 1
        self.call(is_async, "reset", "mail", "user:43")
        assert self.call(is_async, "peek", "mail", "user:43").remaining == 2

    def test_who_is_blocked_can_still_be_given_back(self, is_async: bool) -> None:
        define("mail", "1/h")
        self.call(is_async, "hit", "mail", "user:41")
        override = Override.objects.block("user:41")
        self.call(is_async, "refund", "mail", "user:41")
        override.delete()
        assert self.call(is_async, "hit", "mail", "user:41").allowed
