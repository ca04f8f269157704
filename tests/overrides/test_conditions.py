"""Blocks, exemptions and other rates by what the user of a request is or may do, and by conditions of the site's code."""

import asyncio
import logging
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.core.exceptions import ValidationError
from django.db import connection
from django.http import HttpRequest
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

import ratewindow
from ratewindow.identity import recipe
from ratewindow.identity.site_answers import SiteFunctions
from ratewindow.models import Override
from ratewindow.overrides import conditions
from ratewindow.overrides.subjects import masked, parse_subject, stored
from tests.support.doors import behind_middleware, plain
from tests.support.overridden import define

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _no_functions_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conditions, "registered", SiteFunctions("condition", "it is taken as not true", of_requests_alone=True))


def user(name: str, permission: str = "", **fields: Any) -> User:
    made = User.objects.create(username=name, **fields)
    if permission:
        made.user_permissions.add(Permission.objects.get(codename=permission))
    return made


def refused(site: Any, who: Any, path: str = "/") -> bool:
    """Whether the second of two requests of this user is refused; a new client each time."""
    for _ in range(2):
        request = RequestFactory().get(path, REMOTE_ADDR=f"203.0.113.{(who.pk or 0) % 250}")
        request.user = User.objects.get(pk=who.pk) if who.pk else who
        answer = site(request)
        if asyncio.iscoroutine(answer):
            answer = asyncio.run(answer)
    return bool(answer.status_code == 429)


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def site(request: pytest.FixtureRequest) -> Any:
    define("api", "1/h", prefix="/", key="ip")
    return behind_middleware(plain(request.param))


@pytest.mark.parametrize(
    ("identity", "exempt"),
    [
        ("authenticated", {"ann", "staff", "root", "writer"}),
        ("staff", {"staff", "root"}),
        ("superuser", {"root"}),
        ("permission:auth.change_group", {"writer", "root"}),
        ("permission:auth.no_such", {"root"}),  # whom Django gives every permission
    ],
)
def test_one_row_is_for_all_whom_it_describes(site: Any, identity: str, exempt: set[str]) -> None:
    Override.objects.allow(identity)
    people: list[Any] = [
        user("ann"),
        user("staff", is_staff=True),
        user("root", is_staff=True, is_superuser=True),
        user("writer", "change_group"),
        user("gone", is_staff=True, is_superuser=True, is_active=False),
        AnonymousUser(),
    ]
    assert {each.username for each in people if not refused(site, each)} == exempt


def test_a_permission_may_come_from_a_group(site: Any) -> None:
    Override.objects.allow("permission:auth.change_group")
    writer, group = user("writer"), Group.objects.create(name="writers")
    group.permissions.add(Permission.objects.get(codename="change_group"))
    assert refused(site, writer)
    writer.groups.add(group)
    assert not refused(site, writer)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_condition_of_the_site_is_asked_once_for_a_request(site: Any, is_async: bool) -> None:
    asked: list[Any] = []

    def approved(request: HttpRequest) -> bool:
        asked.append(request)
        return bool(request.user.username == "ann")

    async def aapproved(request: HttpRequest) -> bool:
        return approved(request)

    ratewindow.condition("approved author")(aapproved if is_async else approved)
    Override.objects.allow("condition:approved author")
    Override.objects.rate("condition:approved author", "9/h", rule="api")
    assert not refused(site, user("ann"))
    assert len(asked) == 2  # requests
    assert refused(site, user("bob"))


def test_another_rate_and_a_block_by_condition(site: Any) -> None:
    ratewindow.condition("approved author")(lambda request: request.user.username == "ann")
    Override.objects.rate("condition:approved author", "2/h", rule="api")
    assert not refused(site, user("ann"))
    Override.objects.block("condition:approved author", rule="api")
    assert refused(site, User.objects.get(username="ann"))


def test_a_condition_that_fails_is_not_true(site: Any, caplog: pytest.LogCaptureFixture) -> None:
    def broken(request: HttpRequest) -> bool:
        raise RuntimeError("no such table")

    ratewindow.condition("approved author")(broken)
    Override.objects.allow("condition:approved author")
    with caplog.at_level(logging.ERROR, "ratewindow"):
        assert refused(site, user("ann"))
    assert "the condition function of approved author failed, it is taken as not true" in caplog.text


class TestQueries:
    @pytest.fixture(autouse=True)
    def _site(self) -> None:
        define("api", "9/h", prefix="/api/", key="ip")
        self.site = behind_middleware(plain(is_async=False))

    def queries(self, who: Any, path: str = "/api/") -> int:
        request = RequestFactory().get(path)
        request.user = who
        with CaptureQueriesContext(
            connection,
        ) as seen:
            self.site(request)
        return len(seen)

    def test_what_the_user_knows_of_itself_costs_none(self) -> None:
        for identity in ("staff", "superuser", "authenticated"):
            Override.objects.allow(identity)
        assert self.queries(user("ann")) == 0

    def test_a_permission_costs_what_django_asks_and_remembers(self) -> None:
        Override.objects.allow("permission:auth.change_group")
        ann = user("ann")
        assert self.queries(ann) == 2  # of the user, and of its groups
        assert self.queries(ann) == 0
        assert self.queries(AnonymousUser()) == 0

    def test_a_permission_that_decides_nothing_is_not_asked_for(self) -> None:
        Override.objects.allow("permission:auth.change_group", rule="export")
        Override.objects.allow("permission:auth.add_group")
        assert self.queries(user("ann"), "/elsewhere/") == 0

    def test_a_permission_that_blocks_is_asked_for_everywhere(self) -> None:
        Override.objects.block("permission:auth.change_group")
        assert self.queries(user("ann"), "/elsewhere/") == 2


def test_calls_know_the_user_of_a_request_and_none_of_an_identity() -> None:
    define("mail", "1/h", key="user")
    Override.objects.allow("staff")
    request = RequestFactory().get("/")
    request.user = user("ann", is_staff=True)
    assert [bool(ratewindow.hit("mail", request)) for _ in range(2)] == [True, True]
    assert [bool(asyncio.run(ratewindow.ahit("mail", request))) for _ in range(2)] == [True, True]
    assert [bool(ratewindow.hit("mail", "user:42")) for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("permission:", "'permission:' is no permission: write for example permission:blog.change_post"),
        ("permission:blog", "is no permission"),
        ("permission:blog.change_post.more", "is no permission"),
        ("condition:approved", "no code registers 'approved': choose from approved author"),
        ("condition:", "no code registers ''"),
        ("staff+ip:203.0.113.9", "'staff' is not an identity"),
    ],
)
def test_a_wrong_condition_is_told(text: str, problem: str) -> None:
    ratewindow.condition("approved author")(lambda request: True)
    with pytest.raises(ValidationError, match=problem):
        Override.objects.allow(text)


def test_a_row_whose_condition_has_gone_holds_for_nobody(site: Any, caplog: pytest.LogCaptureFixture) -> None:
    ratewindow.condition("approved author")(lambda request: True)
    override = Override.objects.allow("condition:approved author")
    conditions.registered.clear()
    override.save()
    assert refused(site, user("ann"))
    assert f"block or exemption {override.pk} is left out: no code registers 'approved author'" in caplog.text


def test_nobody_blocks_themselves_by_a_condition() -> None:
    ratewindow.condition("odd")(lambda request: request.user.pk % 2 and request.path)
    root = user("root", is_staff=True, is_superuser=True)
    for identity in ("staff", "superuser", "authenticated", "permission:auth.change_group"):
        with pytest.raises(ValidationError, match="This block contains you"):
            Override.objects.block(identity, created_by=root)
    assert Override.objects.block("staff", created_by=user("ann"))


def test_a_condition_is_shown_and_stored_as_it_is() -> None:
    for text in ("staff", "permission:auth.change_group"):
        subject = parse_subject(text)
        assert (masked(text), stored(subject), subject.one_client) == (text, text, False)
    assert parse_subject("authenticated").takes_switch and not parse_subject("staff").takes_switch


def test_a_condition_is_asked_about_requests_alone() -> None:
    with pytest.raises(ValueError, match="condition 'approved author' is asked about requests alone"):
        ratewindow.condition("approved author")(lambda identity: True)
    assert "approved author" not in conditions.registered


@pytest.mark.parametrize("name", ["condition", "permission"])
def test_no_key_of_the_site_has_the_name_of_a_kind(name: str) -> None:
    with pytest.raises(ValueError, match="built-in key"):
        ratewindow.ratekey(name)
    with pytest.raises(ValueError):
        recipe(name)
