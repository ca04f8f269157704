"""What is stored about one client is found, whatever form it has, and nothing of it is left after its erasure."""

import io
import json
from datetime import timedelta
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
from django.test import RequestFactory, override_settings

from ratewindow.conf import time_zone
from ratewindow.identity import forms, hashed, joined, split
from ratewindow.models import Edit, OffenderStat, Override, RateRule, RecordedHour, Recording, RuleWindow
from ratewindow.operations import release, switch_off
from ratewindow.operations.subject import Named, erase, find, recordings
from ratewindow.reporting import counters
from ratewindow.reporting.collecting import collect_stats
from ratewindow.rulebook import kill_switch, reading
from ratewindow.store import process_clients, state_keys
from tests.support.doors import answer, behind_middleware, get, plain

pytestmark = pytest.mark.django_db(transaction=True)

CLIENT, OTHER = "203.0.113.9", "203.0.113.90"
OLD, NEW = "the key of last year", "the key of this year"


def ask(client: str, times: int = 4, path: str = "/") -> None:
    site = behind_middleware(plain(False))
    for _ in range(times):
        get(site, path, REMOTE_ADDR=client)


def stored_everywhere() -> str:
    """All rows of ours and of the admin's log, and all of Redis but the names of states, as one text."""
    models = [*apps.get_app_config("ratewindow").get_models(), LogEntry]
    rows = "".join(serializers.serialize("json", model._default_manager.all()) for model in models)
    client = process_clients.client()
    in_redis = [f"{name!r}: {_content(client, name)!r}" for name in client.keys("*")]
    return rows + "\n".join(in_redis)


def _content(client: redis.Redis, name: bytes) -> Any:
    kind = client.type(name)
    if kind == b"hash":
        return client.hgetall(name)
    return (
        client.zrange(name, 0, -1) if kind == b"zset" else client.get(name) if kind == b"string" else client.lrange(name, 0, -1)
    )


def fill() -> None:
    """A busy client with a block, a history, statistics, a code and a mention; beside it another one, much alike."""
    RateRule.objects.define("api", "2/h", path="/", mode="enforce")
    RateRule.objects.define("joined", "2/h", path="/", key="ip+header:x-team", mode="shadow")
    window, now = RuleWindow.objects.get(rule__name="api").freeze(), time_zone.now()
    Recording.objects.create(rule="api", window=window.tag, rate=window.text, since=now, until=now + timedelta(days=1))
    for client in (CLIENT, OTHER):
        ask(client)
    counters.flush()
    collect_stats()
    ask(CLIENT, 1)
    counters.flush()
    mine = Override.objects.create(identity=f"ip:{CLIENT}", action="block", reason="too fast")
    mine.reason = "far too fast"
    mine.save()
    Override.objects.create(identity=f"ip:{OTHER}", action="block", reason=f"as {CLIENT}, and {CLIENT}0.")
    release.release(f"ip:{CLIENT}")
    reading.reload()
    ask(CLIENT, 1)
    staff = User.objects.create_superuser("staff")
    kind = ContentType.objects.get_for_model(Override)
    LogEntry.objects.create(
        user=staff, content_type=kind, object_repr=f"ip:{CLIENT}", action_flag=CHANGE, change_message=f"Released {CLIENT}."
    )


@pytest.mark.parametrize("anonymize", ["none", "secrets", "all"])
def test_nothing_is_left_of_it(anonymize: str) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "PEPPER": [OLD], "ANONYMIZE": anonymize}):
        fill()
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "PEPPER": [NEW, OLD], "ANONYMIZE": anonymize}):
        reading.reload()
        ask(CLIENT, 4)
        counters.flush()
        named = Named(CLIENT)
        before = {each.where: each.number for each in find(named)}
        assert {"blocks and exemptions", "history", "statistics", "mentioned in texts", "log of the admin"} <= set(before)
        assert {"counts in Redis", "clients of the last hours in Redis", "codes of refusals in Redis"} <= set(before)
        full = stored_everywhere()
        assert {"recordings", "recordings in Redis"} <= set(before)
        assert all(tag in full for tag in state_keys.client_tags(f"ip:{CLIENT}")), "counts by both peppers"
        erase(named)
        left = stored_everywhere()
        assert f"as [erased], and {CLIENT}0." in left
        for text in (*forms(f"ip:{CLIENT}"), *state_keys.client_tags(f"ip:{CLIENT}"), *recordings.names(named)):
            assert text.rpartition("#")[2] not in left.replace(f"{CLIENT}0", ""), text
        assert CLIENT not in left.replace(f"{CLIENT}0", "")
        assert find(named) == []


def test_what_a_process_has_recorded_of_it_is_not_sent_again() -> None:
    fill()
    named = Named(CLIENT)
    erase(named)
    ask(CLIENT)
    counters.flush(ending=True)
    collect_stats()
    (row,) = RecordedHour.objects.all()
    (mine,), others = recordings.names(named), recordings.names(Named(OTHER))
    assert {mine} | others != others
    assert {*row.clients} == others


def test_sums_stay_what_they_are_and_others_keep_theirs() -> None:
    fill()
    before = sorted(OffenderStat.objects.filter(kind="client").values_list("rule", "refused", "met"))
    erase(Named(f"ip:{CLIENT}"))
    assert sorted(OffenderStat.objects.filter(kind="client").values_list("rule", "refused", "met")) == before
    collect_stats()
    assert not OffenderStat.objects.filter(value__endswith=f"{CLIENT}").exists()
    assert OffenderStat.objects.filter(value=f"ip:{OTHER}").exists()
    assert Override.objects.get().identity == f"ip:{OTHER}"
    assert Override.objects.get().reason == f"as [erased], and {CLIENT}0."
    assert Edit.objects.filter(kind="override", subject=str(Override.objects.get().pk)).exists()


def test_joined_identities_name_each_of_their_values() -> None:
    named = Named("user:42")
    assert named.is_in("user:42") and named.is_in("14:ip:203.0.113.9+7:user:42")
    assert not named.is_in("user:421") and not named.is_in("14:ip:203.0.113.9+8:user:421")
    both = Named("ip:203.0.113.9+user:42")
    assert both.is_in("14:ip:203.0.113.9+7:user:42") and not both.is_in("user:42")


def log_in(name: str, times: int = 3) -> None:
    site = behind_middleware(plain(False))
    for _ in range(times):
        answer(site, RequestFactory().post("/login/", {"username": name}, REMOTE_ADDR=OTHER))


SPELLINGS = ("ann", "ANN", "Ann ", " aNN", "\uff21nn")


def fill_with_spellings() -> None:
    """What five ways to type one name leave behind under rules that do not normalise, and one that is like it."""
    RateRule.objects.define("name", "1/h", path="/login/", key="post:username", mode="enforce")
    RateRule.objects.define("both", "1/h", path="/login/", key="ip+post:username", mode="enforce")
    window, now = RuleWindow.objects.get(rule__name="name").freeze(), time_zone.now()
    Recording.objects.create(rule="name", window=window.tag, rate=window.text, since=now, until=now + timedelta(days=1))
    reading.reload()
    for name in (*SPELLINGS, "anna"):
        log_in(name)
        Override.objects.create(identity=joined([f"ip:{OTHER}", f"post:username:{name}"]), action="block", rule="other")
        Override.objects.create(identity=f"post:username:{name}", action="block", reason=f"as post:username:{name}")
    counters.flush()
    collect_stats()
    for name in (*SPELLINGS, "anna"):
        log_in(name, 1)
    counters.flush()


@pytest.mark.parametrize("typed", ["ann", "ANN@example.com", "post:username:ann", "post:username: Ann"])
def test_every_spelling_of_a_name_is_found_and_erased(typed: str) -> None:
    User.objects.create_user("ann", "ann@example.com")
    fill_with_spellings()
    erase(Named(typed))
    reading.reload()
    left = stored_everywhere()
    parts = [f"post:username:{name}" for name in SPELLINGS]
    assert [part for part in parts if part in left.replace("post:username:anna", "")] == []
    identities = [*parts, *(joined([f"ip:{OTHER}", part]) for part in parts)]
    assert [each for each in identities for tag in state_keys.client_tags(each) if tag in left] == []
    assert find(Named(typed)) == []
    assert {each.identity for each in Override.objects.all()} == {
        "post:username:anna",
        joined([f"ip:{OTHER}", "post:username:anna"]),
    }
    assert all(tag in left for tag in state_keys.client_tags("post:username:anna"))


@pytest.mark.parametrize("name", ["corp:ann", "corp+ann", "ann"])
def test_a_login_name_stands_for_what_was_typed_into_forms_whatever_characters_it_has(name: str) -> None:
    user = User.objects.create_user(name, "ann@example.com")
    for typed in (name, f" {name} ", "ann@example.com"):
        assert Named(typed).is_in(f"post:username:{name}") and Named(typed).is_in(f"user:{user.pk}")
    assert not Named(f"user:{user.pk}").is_in(f"post:username:{name}")


def test_usual_spellings_are_found_where_only_hashes_are_stored() -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "all"}):
        fill_with_spellings()
        erase(Named("post:username:ann"))
        left = stored_everywhere()
        for name, is_found in (("ann", True), ("ANN", True), ("Ann ", True), (" aNN", False)):
            assert (hashed(f"post:username:{name}").rpartition("#")[2] not in left) is is_found, name
            assert all((tag not in left) is is_found for tag in state_keys.client_tags(f"post:username:{name}")), name


def test_a_spelling_that_is_stored_in_clear_is_found_where_it_is_a_hash() -> None:
    Override.objects.create(identity="post:username:aNN", action="block")
    Override.objects.create(identity=hashed("post:username:aNN"), action="block", rule="other")
    Override.objects.create(identity=hashed("post:username:aNn"), action="block")
    assert [each.number for each in find(Named("post:username:ann")) if each.where == "blocks and exemptions"] == [2]
    erase(Named("post:username:ann"))
    assert [each.identity for each in Override.objects.all()] == [hashed("post:username:aNn")]
    assert hashed("post:username:aNN") not in stored_everywhere()


def test_another_spelling_of_a_key_or_a_path_is_another_client() -> None:
    for text in ("header:x-api-key:abc", "cookie:basket:abc", "path:/a/", "session:abc"):
        assert not Named(text).is_in(text.replace("a/", "A/") if "/" in text else text.removesuffix("abc") + "ABC")


def test_a_block_of_a_part_of_the_client_is_its_own_and_one_of_more_is_not() -> None:
    named = Named("2001:db8:0:1::9")
    for identity in ("ip:2001:db8:0:1::9/128", "ip:2001:db8:0:1::/64", "ip:2001:db8::/32", "ip:2001:db8::9/128"):
        Override.objects.create(identity=identity, action="block")
    assert [each.number for each in find(named) if each.where == "blocks and exemptions"] == [2]
    erase(named)
    assert sorted(each.identity for each in Override.objects.all()) == ["ip:2001:db8::/32", "ip:2001:db8::9/128"]


def test_an_e_mail_address_is_found_in_reasons_in_any_case() -> None:
    User.objects.create_user("ann", "ann@example.com")
    Override.objects.create(identity=f"ip:{OTHER}", action="block", reason="mail by Ann@Example.com, not joann@example.com")
    erase(Named("ann"))
    assert Override.objects.get().reason == "mail by [erased], not joann@example.com"


def test_other_spellings_go_from_the_reasons_of_other_blocks_and_from_their_history() -> None:
    other = Override.objects.create(identity=f"ip:{OTHER}", action="block", reason=f"{CLIENT}: a robot")
    other.reason = f"as ::ffff:{CLIENT}"
    other.save()
    erase(Named(CLIENT))
    other.refresh_from_db()
    assert other.reason == "as [erased]"
    assert {(edit.after or {})["reason"] for edit in Edit.objects.all()} == {"as [erased]", "[erased]: a robot"}
    assert f"{CLIENT}:" not in stored_everywhere()


@pytest.mark.parametrize(
    "text", ["*", "ip:203.0.113.0/24", "group:staff", "nobody-has-this-name", "session:#WyJk0dGx4mP3q8aB.7f2c"]
)
def test_what_is_not_one_client_is_an_error_that_says_what_to_write(text: str) -> None:
    with pytest.raises(CommandError, match=r"Not erased: .*write"):
        call_command("ratewindow", "subject", text, "--erase", "--no-wait")


@time_machine.travel("2026-11-20 12:00:00+00:00", tick=False)  # all within one minute
def test_the_command_shows_erases_and_erases_once_more_when_processes_have_sent_the_rest(monkeypatch: Any) -> None:
    fill()
    slept: list[float] = []

    def next_minute(seconds: float) -> None:
        slept.append(seconds)
        ask(OTHER, 1)  # whatever changes, a process sends all that it holds of the minute
        counters.flush()
        assert [each.where for each in find(Named(CLIENT))] == ["clients of the last hours in Redis"]
        counters.forget()  # as it does when the minute is over

    monkeypatch.setattr("ratewindow.management.subcommands.subject.time.sleep", next_minute)
    output = io.StringIO()
    call_command("ratewindow", "subject", CLIENT, "--erase", stdout=output)
    said = output.getvalue()
    assert "blocks and exemptions" in said and "Nothing is left to erase" in said
    assert slept and slept[0] > 60
    output = io.StringIO()
    call_command("ratewindow", "subject", CLIENT, stdout=output)
    assert output.getvalue().strip() == f"Nothing is stored about {CLIENT}."


def test_what_is_piped_as_json_is_json_also_while_it_is_erased() -> None:
    fill()
    output = io.StringIO()
    call_command("ratewindow", "subject", CLIENT, "--erase", "--no-wait", "--json", stdout=output)
    assert {each["where"] for each in json.loads(output.getvalue())} >= {"blocks and exemptions"}
    assert find(Named(CLIENT)) == []


def test_the_codes_of_its_refusals_are_gone() -> None:
    fill()
    ask(CLIENT, 3)
    counters.flush()
    found = [each for each in find(Named(CLIENT)) if each.where.startswith("codes")]
    assert found and found[0].number
    erase(Named(CLIENT))
    assert not [each for each in find(Named(CLIENT)) if each.where.startswith("codes")]


MAIL = "zoe@example.com"


def test_what_a_rule_says_of_it_goes_from_the_row_as_from_its_history() -> None:
    texts = {"description": f"since {MAIL} asked\n", "message": f"Write to {MAIL}, ::1."}
    rule, _ = RateRule.objects.define("api", "2/h", path=f"/of/{MAIL}/", **texts)
    named = Named(f"post:email:{MAIL}"), Named("::1")
    assert [each.where for one in named for each in find(one)] == ["mentioned in texts"] * 2
    for one in named:
        erase(one)
        assert find(one) == []
    rule.refresh_from_db()
    assert (rule.description, rule.message) == ("since [erased] asked\n", "Write to [erased], [erased].")
    rule.mode = "off"
    rule.save()
    assert [edit.way for edit in Edit.objects.all()] == ["code", "define"]
    assert MAIL not in stored_everywhere().replace(f"/of/{MAIL}/", "")


def test_why_limits_were_switched_off_is_erased_in_the_row_in_redis_and_in_the_process() -> None:
    switch_off.turn_off(60, reason=f"because of {CLIENT}", by="ann")
    assert [(each.where, each.number) for each in find(Named(CLIENT))] == [("mentioned in texts", 2)]
    erase(Named(CLIENT))
    assert kill_switch.off and kill_switch.turned.reason == "because of [erased]" and kill_switch.turned.by == "ann"
    assert CLIENT not in stored_everywhere()
    switch_off.turn_on()
    assert [edit.way for edit in Edit.objects.all()] == ["code", "code"]


def test_what_takes_more_room_than_the_client_is_cut_as_in_the_history() -> None:
    other = Override.objects.create(identity=f"ip:{OTHER}", action="block", reason="::1 " * 50)
    RateRule.objects.define("api", "2/h", path="/", message="::1 " * 75)
    erase(Named("::1"))
    other.refresh_from_db()
    assert len(other.reason) == 200 and len(RateRule.objects.get().message) == 300
    other.delete()
    RateRule.objects.get().delete()
    assert "found" not in {edit.way for edit in Edit.objects.all()}


@pytest.mark.parametrize("anonymize", ["none", "all"])
def test_a_user_agent_that_is_the_client_goes_from_the_report_of_user_agents(anonymize: str) -> None:
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": anonymize}):
        RateRule.objects.define("agents", "1/h", path="/", key="header:user-agent", mode="enforce")
        reading.reload()
        site = behind_middleware(plain(False))
        for collected in (True, False):
            for agent in ("Zoe", "Zoe2", "Mozilla/5.0 Firefox/140.0") * 2:
                get(site, HTTP_USER_AGENT=agent)
            counters.flush()
            if collected:
                collect_stats()
        assert "Zoe" in stored_everywhere().replace("Zoe2", "")
        assert "6 requests, 3 refused" in {each.says for each in find(Named("header:user-agent:Zoe"))}
        erase(Named("header:user-agent:zoe"))
        left = stored_everywhere()
        assert "Zoe" not in left.replace("Zoe2", "") and "Zoe2" in left and "Firefox" in left
        assert find(Named("header:user-agent:zoe")) == []
        agents = OffenderStat.objects.filter(kind="agent").values_list("value", flat=True)
        assert {each[0] for each in agents if each not in ("Zoe2", "Firefox")} == {"#"}


def test_whatever_is_joined_with_it_goes_from_the_statistics_but_for_its_scope() -> None:
    now, rows = time_zone.now(), [["scope:acme", "post:username:ann", "query:q:ann"], ["post:username:bob", "query:q:ann"]]
    for parts in rows:
        OffenderStat.objects.create(rule="both", resolution="hour", start=now, kind="client", value=joined(parts))
    erase(Named("post:username:ann"))
    mine, other = (split(row.value) for row in OffenderStat.objects.order_by("pk"))
    assert mine[0] == "scope:acme" and mine[1].startswith("post:username:#") and mine[2].startswith("query:q:#")
    assert list(other) == rows[1]


def test_what_takes_the_place_of_many_joined_values_has_room_in_a_row() -> None:
    identity = joined([f"header:x-{'a' * 20}{number}:1" for number in range(7)])
    erased = Named("header:x-" + "a" * 20 + "0:1").stand_in().of(identity)
    assert len(identity) < len(erased) == 255 and ":1+" not in erased


@pytest.mark.parametrize(("parts", "tried"), [(1, 9), (3, 9**3), (4, 1)])
def test_spellings_of_joined_values_are_tried_together_as_long_as_they_are_few(parts: int, tried: int) -> None:
    """Three cases with three places of a blank: of five values they are 59,049."""
    assert len(Named("+".join(f"post:field{number}:Ann {number}" for number in range(parts))).identities()) == tried
