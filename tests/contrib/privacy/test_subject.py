"""What is stored about one client is found, whatever form it has, and nothing of it is left after its erasure."""

import io
from typing import Any

import pytest
import redis
import time_machine
from django.apps import apps
from django.conf import settings
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.core import serializers
from django.core.management import CommandError, call_command
from django.test import override_settings

from ratewindow import rooms
from ratewindow.conf import time_zone
from ratewindow.contrib.privacy.client import TypedClient
from ratewindow.contrib.privacy.stored import erase, find
from ratewindow.counting.collecting import collect_stats
from ratewindow.counting.counters import counters
from ratewindow.identity import forms, joined, split
from ratewindow.models import OffenderStat, Override, RateRule
from ratewindow.rulebook import reading
from ratewindow.store import process_clients, state_keys
from tests.support.doors import behind_middleware, get, plain

pytestmark = pytest.mark.django_db(transaction=True)

CLIENT, OTHER = "203.0.113.9", "203.0.113.90"
OLD, NEW = "the key of last year", "the key of this year"


def ask(client: str, times: int = 4, path: str = "/") -> None:
    site = behind_middleware(plain(False))
    for _ in range(times):
        get(site, path, REMOTE_ADDR=client)


def send() -> None:
    """What a process does each second."""
    counters.flush()
    for room in rooms.installed():
        room.end()


def stored_everywhere() -> str:
    """All rows of ours and of the admin's log, and all of Redis, as one text."""
    models = [model for model in apps.get_app_config("ratewindow").get_models() if model.__name__ != "Edit"]
    rows = "".join(serializers.serialize("json", model._default_manager.all()) for model in [*models, LogEntry])
    client = process_clients.client()
    return rows + "\n".join(f"{name!r}: {_content(client, name)!r}" for name in client.keys("*"))


def _content(client: redis.Redis, name: bytes) -> Any:
    kind = client.type(name)
    if kind == b"hash":
        return client.hgetall(name)
    return (
        client.zrange(name, 0, -1) if kind == b"zset" else client.get(name) if kind == b"string" else client.lrange(name, 0, -1)
    )


def fill() -> None:
    """A busy client with a block, statistics, a code and an entry of the log; beside it another one, much alike."""
    RateRule.objects.define("api", "2/h", path="/", mode="enforce")
    RateRule.objects.define("joined", "2/h", path="/", key="ip+header:x-team", mode="shadow")
    for client in (CLIENT, OTHER):
        ask(client)
    send()
    collect_stats()
    ask(CLIENT, 1)
    send()
    for client in (CLIENT, OTHER):
        Override.objects.create(identity=f"ip:{client}", action="block", rule="other", reason="too fast")
    reading.reload()
    ask(CLIENT, 1)
    staff, kind = User.objects.create_superuser("staff"), ContentType.objects.get_for_model(Override)
    LogEntry.objects.create(
        user=staff, content_type=kind, object_repr="x", action_flag=CHANGE, change_message=f"Released ip:{CLIENT}."
    )
    LogEntry.objects.create(user=staff, content_type=kind, object_repr=f"ip:{OTHER}", action_flag=CHANGE)


@pytest.mark.parametrize("anonymize", ["none", "secrets", "all"])
def test_nothing_is_left_of_it(anonymize: str) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "PEPPER": [OLD], "ANONYMIZE": anonymize}):
        fill()
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "PEPPER": [NEW, OLD], "ANONYMIZE": anonymize}):
        reading.reload()
        ask(CLIENT, 4)
        send()
        client = TypedClient(CLIENT)
        before = {each.where: each.number for each in find(client)}
        assert {"blocks and exemptions", "statistics", "log of the admin", "counts in Redis"} <= set(before)
        assert "clients of the last hours in Redis" in before
        assert ("codes of refusals in Redis" in before) == apps.is_installed("ratewindow.contrib.explain")
        assert all(tag in stored_everywhere() for tag in state_keys.client_tags(f"ip:{CLIENT}")), "counts by both peppers"
        erase(client)
        left = stored_everywhere()
        for text in (*forms(f"ip:{CLIENT}"), *state_keys.client_tags(f"ip:{CLIENT}")):
            assert text.rpartition("#")[2] not in left.replace(f"{CLIENT}0", ""), text
        assert find(client) == []


def test_sums_stay_what_they_are_and_others_keep_theirs() -> None:
    fill()
    before = sorted(OffenderStat.objects.filter(kind="client").values_list("rule", "refused", "met"))
    erase(TypedClient(f"ip:{CLIENT}"))
    assert sorted(OffenderStat.objects.filter(kind="client").values_list("rule", "refused", "met")) == before
    collect_stats()
    assert not OffenderStat.objects.filter(value=f"ip:{CLIENT}").exists()
    assert OffenderStat.objects.filter(value=f"ip:{OTHER}").exists()
    assert Override.objects.get().identity == f"ip:{OTHER}"
    assert LogEntry.objects.filter(object_repr=f"ip:{OTHER}").exists()


def test_joined_identities_name_each_of_their_values() -> None:
    client = TypedClient("user:42")
    assert client.is_in("user:42") and client.is_in("14:ip:203.0.113.9+7:user:42")
    assert not client.is_in("user:421") and not client.is_in("14:ip:203.0.113.9+8:user:421")
    both = TypedClient("ip:203.0.113.9+user:42")
    assert both.is_in("14:ip:203.0.113.9+7:user:42") and not both.is_in("user:42")


def test_a_login_name_stands_for_the_user() -> None:
    user = User.objects.create_user("ann", "ann@example.com")
    assert TypedClient("ann").is_in(f"user:{user.pk}")


@pytest.mark.parametrize("spelled", ["ann", "ANN", "Ann ", " aNN", "\uff21nn"])
def test_a_name_is_found_in_any_spelling_that_is_stored_in_clear(spelled: str) -> None:
    for identity in (f"post:username:{spelled}", joined([f"ip:{OTHER}", f"post:username:{spelled}"]), "post:username:anna"):
        Override.objects.create(identity=identity, action="block")
    client = TypedClient("post:username:ann")
    assert [each.number for each in find(client) if each.where == "blocks and exemptions"] == [2]
    erase(client)
    assert Override.objects.get().identity == "post:username:anna"


def test_another_spelling_of_a_key_or_a_path_is_another_client() -> None:
    for text in ("header:x-api-key:abc", "cookie:basket:abc", "session:abc"):
        assert not TypedClient(text).is_in(text.removesuffix("abc") + "ABC")


def test_a_block_of_a_part_of_the_client_is_its_own_and_one_of_more_is_not() -> None:
    client = TypedClient("2001:db8:0:1::9")
    for identity in ("ip:2001:db8:0:1::9/128", "ip:2001:db8:0:1::/64", "ip:2001:db8::/32", "ip:2001:db8::9/128"):
        Override.objects.create(identity=identity, action="block")
    assert [each.number for each in find(client) if each.where == "blocks and exemptions"] == [2]
    erase(client)
    assert sorted(each.identity for each in Override.objects.all()) == ["ip:2001:db8::/32", "ip:2001:db8::9/128"]


@pytest.mark.parametrize(
    "text", ["*", "ip:203.0.113.0/24", "group:staff", "nobody-has-this-name", "session:#WyJk0dGx4mP3q8aB.7f2c"]
)
def test_what_is_not_one_client_is_an_error_that_says_what_to_write(text: str) -> None:
    with pytest.raises(CommandError, match=r"Not erased: .*write"):
        call_command("ratewindow", "subject", text, "--erase")


@time_machine.travel("2026-11-20 12:00:00+00:00", tick=False)  # all within one minute
def test_the_command_shows_erases_and_erases_once_more_when_processes_have_sent_the_rest(monkeypatch: Any) -> None:
    fill()
    slept: list[float] = []

    def next_minute(seconds: float) -> None:
        slept.append(seconds)
        ask(OTHER, 1)  # whatever changes, a process sends all that it holds of the minute
        send()
        assert {each.where for each in find(TypedClient(CLIENT))} >= {"clients of the last hours in Redis"}
        counters.reset()  # as it does when the minute is over

    monkeypatch.setattr("ratewindow.contrib.privacy.commands.subject.time.sleep", next_minute)
    output = io.StringIO()
    call_command("ratewindow", "subject", CLIENT, "--erase", stdout=output)
    said = output.getvalue()
    assert "blocks and exemptions" in said and "Nothing is left to erase" in said
    assert slept and slept[0] > 60
    output = io.StringIO()
    call_command("ratewindow", "subject", CLIENT, stdout=output)
    assert output.getvalue().strip() == f"Nothing is stored about {CLIENT}."


def test_whatever_is_joined_with_it_goes_from_the_statistics_but_for_its_scope() -> None:
    now, rows = time_zone.now(), [["scope:acme", "post:username:ann", "query:q:ann"], ["post:username:bob", "query:q:ann"]]
    for parts in rows:
        OffenderStat.objects.create(rule="both", resolution="hour", start=now, kind="client", value=joined(parts))
    erase(TypedClient("post:username:ann"))
    mine, other = (split(row.value) for row in OffenderStat.objects.order_by("pk"))
    assert mine[0] == "scope:acme" and mine[1].startswith("post:username:#") and mine[2].startswith("query:q:#")
    assert list(other) == rows[1]


def test_what_takes_the_place_of_many_joined_values_has_room_in_a_row() -> None:
    identity = joined([f"header:x-{'a' * 20}{number}:1" for number in range(7)])
    erased = TypedClient("header:x-" + "a" * 20 + "0:1").stand_in(identity)
    assert len(identity) < len(erased) == 255 and ":1+" not in erased
