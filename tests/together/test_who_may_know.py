"""Who may know what of blocks, exemptions and other rates.

Staff who may not view them learn nothing of any: every page of the admin, found by itself, is the same with and without them.
Staff who may view them, but no identities unmasked, learn of none whom it is for.
"""

import json
import re
from collections.abc import Iterator
from difflib import unified_diff
from typing import Any
from urllib.parse import urlencode

import pytest
import time_machine
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse

from ratewindow import ratelimit
from ratewindow.contrib.history.models import Edit
from ratewindow.counting.collecting import collect_stats
from ratewindow.counting.counters import counters
from ratewindow.identity import hashed, is_hashed, joined
from ratewindow.models import Override, RateRule
from ratewindow.operations.clients import release
from ratewindow.rulebook import reading
from tests.support import override_pages
from tests.support.admin_addresses import addresses
from tests.support.doors import answer, behind_middleware, get, plain
from tests.support.rule_pages import ADD, define, said, typed
from tests.support.staff import staff

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS, REASON = "203.0.113.217", "seen where it has no business"
NETWORK, LAST = "203.0.113.x", ".217"  # what a masked address shows, and what it hides
EXPLAIN, RELEASE, REPORT, EXPORT = (
    reverse(f"admin:ratewindow_{each}") for each in ("explain", "override_release", "report", "report_export")
)
EDITS_RULES = ("add_raterule", "change_raterule", "enforce_raterule")
ALSO = (*EDITS_RULES, "add_override", "delete_override", "release_identity", "export_throttlestat", "switch_limits")
READS = ("view_raterule", "view_throttlestat")
WITHOUT = [(), *((each,) for each in READS), *((each, "view_identity") for each in READS), (*READS, "view_identity", *ALSO)]
MASKED = (*READS, "view_override", *ALSO)  # all but to see identities
EACH_TIME = re.compile(
    r"csrfmiddlewaretoken\" value=\"\w+\"|nonce=\"\w+\"|Redis is [\d.]+ s ahead|(?:Answers in|Memory|Keys)</th><td>[^<]+"
)


@pytest.fixture(autouse=True)
def _at_one_moment() -> Iterator[None]:
    with time_machine.travel("2026-11-20 12:00:00+00:00", tick=False):
        yield


@pytest.fixture
def rule() -> RateRule:
    return define("login", "3/h", path="/login/", mode="enforce", key="ip")


def overridden(action: str = "block", identity: str = f"ip:{ADDRESS}", **fields: Any) -> Override:
    made = Override.objects.create(action=action, identity=identity, reason=REASON, **fields)
    reading.reload()
    return made


def ask(count: int, path: str = "/login/", address: str = ADDRESS) -> None:
    """Requests, and what is collected of them."""
    reading.reload()
    site = behind_middleware(plain(False))
    for _ in range(count):
        get(site, path, REMOTE_ADDR=address)
    counters.flush()
    collect_stats()


def pages(block: Override) -> list[str]:
    """Every address of the admin of ours, also those of this block, and each edit."""
    edits = [*Edit.objects.values_list("pk", flat=True)]
    of_block = [reverse(f"admin:ratewindow_override_{each}", args=[block.pk]) for each in ("change", "delete", "history", "end")]
    entries = [reverse("admin:ratewindow_history_edit_change", args=[pk]) for pk in edits]
    return [reverse("admin:index"), *addresses(), *of_block, *entries]


def questions() -> list[str]:
    """Addresses with a client in the query string, as people ask for it."""
    asked = {"address": ADDRESS, "path": "/login/", "method": "POST"}
    named = [{"identity": who, "rule": rule} for who in (ADDRESS, "user:42") for rule in ("", "login")]
    return [
        *(f"{reverse(f'admin:ratewindow_{each}_changelist')}?q={ADDRESS}" for each in ("override", "history_edit", "raterule")),
        f"{reverse('admin:ratewindow_override_changelist')}?identity={ADDRESS}",
        *(f"{REPORT}?{query}" for query in ("rule=blocks", "mode=enforce", "period=24h")),
        f"{EXPORT}?part=all&format=json",
        f"{EXPLAIN}?{urlencode(asked)}",
        f"{EXPLAIN}?{urlencode({**asked, 'user': 'user:42'})}",
        *(f"{page}?{urlencode(each)}" for each in named for page in (RELEASE, override_pages.ADD)),
    ]


def visited(client: Client, wanted: list[str]) -> dict[str, str]:
    """The status and the text of each page, without what differs each time."""
    found = {}
    for page in wanted:
        response: Any = client.get(page)
        text = b"".join(response).decode()
        found[page] = EACH_TIME.sub("", f"{response.status_code} {response.headers.get('Location', '')}\n{text}")
    return found


def differences(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return [
        line for page in one for line in unified_diff(one[page].splitlines(), other[page].splitlines(), page, lineterm="", n=0)
    ]


def messages(response: Any) -> list[str]:
    """What the page says first of all, of what was done."""
    return [
        re.sub(r"<[^>]+>", "", each)
        for each in re.findall(r'<li class="(?:success|warning|info|error)">(.*?)</li>', response.content.decode())
    ]


def forget_overrides() -> None:
    Override.objects.all().delete()
    Edit.objects.filter(kind__in=[Edit.Kind.OVERRIDE, Edit.Kind.RELEASE]).delete()
    reading.reload()


@pytest.mark.parametrize("permissions", WITHOUT, ids=lambda each: " and ".join(each) or "none")
def test_every_page_is_the_same_with_and_without_any_for_who_may_not_view_them(
    rule: RateRule, permissions: tuple[str, ...]
) -> None:
    client = staff(*permissions)
    define("admin", "5/m", prefix="/admin/", mode="shadow")
    ask(2)
    made = overridden()
    overridden("allow", f"user:{User.objects.get().pk}")
    overridden("rate", "user:42", rule="login", rate="1/h")
    wanted = [*pages(made), *questions()]
    with_them = visited(client, wanted)
    assert [page for page, text in with_them.items() if REASON in text] == []
    forget_overrides()
    assert differences(with_them, visited(client, wanted)) == []


@pytest.mark.parametrize("more", [(), ("change_override",)], ids=["looks", "changes"])
def test_no_page_has_whom_one_is_for_for_who_may_not_see_identities(rule: RateRule, more: tuple[str, ...]) -> None:
    client = staff(*MASKED, *more)
    ask(1, address="198.51.100.7")
    made = overridden(starts_at=None)
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "all"}):
        made.save()
    assert made.identity.startswith("ip:#")
    release(f"ip:{ADDRESS}")
    shown = visited(client, pages(made))
    assert any(REASON in text for text in shown.values()), "the reason is shown to who may read the row"
    assert any(NETWORK in text for text in shown.values()), "so is the mask, of the history too"
    assert [page for page, text in shown.items() if ADDRESS in text or LAST in text] == []


HASHES = re.compile(r"#[A-Za-z0-9_-]{16}(?![A-Za-z0-9_-])")


@pytest.mark.parametrize(
    ("anonymize", "identity", "mask"),
    [
        ("none", "user:4711", "user:…"),
        ("none", "post:username:vip", "post:username:…"),
        ("none", joined([f"ip:{ADDRESS}", "post:username:vip"]), "ip:… + post:username:…"),
        ("none", hashed("post:username:vip"), "post:username:…"),
        ("secrets", "header:x-api-key:correct-horse-7f2c", "header:x-api-key:…7f2c"),
        ("all", f"ip:{ADDRESS}", "ip:…"),
        ("all", "user:4711", "user:…"),
    ],
)
def test_no_page_about_blocks_has_a_hash_that_a_guess_could_be_compared_with(
    rule: RateRule, anonymize: str, identity: str, mask: str
) -> None:
    ask(1, address="198.51.100.7")
    client = staff("view_override", "change_override", "add_override", "delete_override", "release_identity", "switch_limits")
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": anonymize}):
        made = overridden(identity=identity, expires_at=None)
        if not is_hashed(identity):
            release(identity)
        made.refresh_from_db()
        shown = visited(client, pages(made))
        shown["ended"] = said(client.post(override_pages.quick("end", made), follow=True))
        chosen = {"action": "delete_selected", "_selected_action": made.pk}
        shown["deletes several"] = said(client.post(override_pages.LIST, chosen))
    assert [page for page, text in shown.items() if HASHES.search(text)] == []
    of_row = [reverse(f"admin:ratewindow_override_{each}", args=[made.pk]) for each in ("change", "delete")]
    assert [page for page in (override_pages.LIST, "deletes several", *of_row) if mask not in shown[page]] == []


def test_the_log_of_the_admin_names_neither_client_nor_mask_nor_rule_nor_reason() -> None:
    """Django shows it to whoever may delete the user who did these things."""
    define("login", "3/h", path="/login/", key="ip")
    boss = Client()
    boss.force_login(User.objects.create_superuser("boss"))
    some = {"identity": ADDRESS, "rule": "login", "reason": REASON}
    boss.post(override_pages.ADD, override_pages.typed(**some))
    made = Override.objects.get()
    boss.post(override_pages.ADD, override_pages.typed_above_the_list(**{**some, "identity": "user:4711"}))
    boss.post(override_pages.change(made), override_pages.typed(rule="login", reason=f"{REASON}, again"))
    boss.post(override_pages.quick("end", made))
    boss.post(RELEASE, some)
    boss.post(reverse("admin:ratewindow_override_delete", args=[made.pk]), {"post": "yes"})
    chosen = {"action": "delete_selected", "_selected_action": Override.objects.get().pk, "post": "yes"}
    boss.post(override_pages.LIST, chosen)
    assert not Override.objects.exists() and LogEntry.objects.count() == 7
    colleague = staff()
    User.objects.latest("pk").user_permissions.add(Permission.objects.get(codename="delete_user"))
    page = said(colleague.get(reverse("admin:auth_user_delete", args=[boss.session["_auth_user_id"]])))
    assert page.count("Log entry: ") == 7 and f"Added “block {made.pk}”." in page and "Changed “client” — Released." in page
    assert [each for each in ("203.0.113", "user:", "login", REASON) if each in page.partition("Log entry")[2]] == []


def test_a_conflict_of_two_people_says_what_changed_with_masks() -> None:
    client, made = staff("view_override", "change_override"), overridden()
    page = override_pages.change(made)
    (opened,) = re.findall(r'name="opened" value="(\w+)"', override_pages.text(client.get(page)))
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "ANONYMIZE": "all"}):
        made.save()
    text = override_pages.text(client.post(page, override_pages.typed(opened=opened, reason="once more")))
    assert "This has been changed since you opened it" in text and "→ ip:…" in text
    assert ADDRESS not in text and LAST not in text


def test_whoever_sees_masks_gets_the_same_explanation_of_each_address_of_a_masked_network(rule: RateRule) -> None:
    overridden()
    client = staff("view_raterule", "view_override")
    said_of = {}
    for address in (ADDRESS, "203.0.113.218"):
        text = visited(client, [f"{EXPLAIN}?{urlencode({'path': '/login/', 'address': address})}"]).popitem()[1]
        said_of[address] = text.replace(address, "")
    assert said_of[ADDRESS] == said_of["203.0.113.218"]
    assert "not shown to you: to see them takes the permissions view_override and view_identity" in said_of[ADDRESS]


def test_an_explanation_does_not_show_how_the_mask_of_a_typed_client_looks() -> None:
    define("each", "3/h", path="/login/", mode="enforce", key="user")
    reading.reload()
    user = User.objects.create_user("ann")
    text = said(staff("view_raterule", "view_override").get(EXPLAIN, {"path": "/login/", "user": f"user:{user.pk}"}))
    assert "counted per user" in text and "user:#" not in text


@pytest.mark.parametrize("permissions", [(), ("view_override",), ("view_identity",)])
def test_whoever_may_not_look_up_a_client_releases_it_without_learning_what_held(
    rule: RateRule, permissions: tuple[str, ...]
) -> None:
    client = staff("release_identity", "add_override", *permissions)
    overridden("rate", rule="login", rate="1/h")
    sent = {"identity": ADDRESS, "reason": "a friend"}
    ask(1)
    shown = said(client.get(RELEASE, {"identity": ADDRESS}))
    assert "1 of 3 in 1h" in shown and REASON not in shown and "By the rules alone" in shown
    who = f"ip:{ADDRESS}"
    assert messages(client.post(RELEASE, sent, follow=True)) == [
        f"Released {who}: its counts under login deleted, any block that named it ended."
    ]
    overridden()
    overridden(identity="ip:203.0.113.0/24")
    assert messages(client.post(RELEASE, sent, follow=True)) == [
        f"Released {who}: no counts deleted, any block that named it ended."
    ]
    assert Override.objects.get(identity=f"ip:{ADDRESS}", action="block").state == "ended"


@pytest.mark.parametrize("permissions", [(), ("view_override",), ("view_identity",)])
@pytest.mark.parametrize("held", ["block", "allow"])
def test_whoever_may_not_look_up_a_client_blocks_it_without_learning_what_held(permissions: tuple[str, ...], held: str) -> None:
    client = staff("add_override", "view_throttlestat", *permissions)
    sent = override_pages.typed(identity=ADDRESS, reason="again")
    told = []
    for _ in range(2):
        told.append(messages(client.post(override_pages.ADD, sent, follow=True)))
        forget_overrides()
        overridden(held)
    assert told[0] == told[1] and all(told)


def a_code() -> str:
    """Of a refusal by a block, or by another rate."""
    request = RequestFactory().post("/login/", REMOTE_ADDR=ADDRESS, headers={"Accept": "application/problem+json"})
    view = ratelimit("login")(plain(False))
    for _ in range(2):
        response = answer(view, request)
    counters.flush()
    return str(json.loads(response.content)["code"])


def test_the_code_of_a_blocked_client_is_unknown_to_who_may_not_view_blocks(rule: RateRule) -> None:
    overridden()
    code = a_code()
    seen = said(staff("view_raterule", "view_override", "view_identity").get(EXPLAIN, {"code": code}))
    assert "REFUSED: blocked." in seen
    told = said(staff("view_raterule", "view_identity").get(EXPLAIN, {"code": code}))
    assert told.replace(code, "22222") == said(staff("view_raterule", "view_identity").get(EXPLAIN, {"code": "22222"})).replace(
        "staff2", "staff1"
    )
    assert "You are not shown the code of a block" in told


def test_the_code_of_a_client_with_another_rate_does_not_tell_the_rate(rule: RateRule) -> None:
    overridden("rate", rule="login", rate="1/h")
    code = a_code()
    seen = override_pages.text(staff("view_raterule", "view_override", "view_identity").get(EXPLAIN, {"code": code}))
    assert "1/h" in seen
    told = override_pages.text(staff("view_raterule", "view_identity").get(EXPLAIN, {"code": code}))
    assert "its limit is reached" in told and "1/h" not in told and REASON not in told


def test_the_report_does_not_say_which_requests_a_block_refused_to_who_may_not_view_blocks(rule: RateRule) -> None:
    overridden()
    ask(5, path="/elsewhere/")
    ask(1)
    readers = staff("view_throttlestat", "view_identity", "export_throttlestat"), staff("view_throttlestat", "view_override")
    later = time_machine.travel("2026-11-20 12:05:00+00:00", tick=False)
    with later:
        hidden, shown = ([said(client.get(f"{REPORT}{query}")) for query in ("", "?rule=blocks")] for client in readers)
        exported = readers[0].get(f"{EXPORT}?part=time").content.decode()
    assert "Requests of blocked clients that matched no enforced rule." in shown[0] and "Blocked" in shown[0]
    assert "Requests of blocked clients" not in hidden[0] and "Over the limit, or blocked" in hidden[0]
    assert "5" not in re.findall(r"(\d+) refused", hidden[0]) and "Select a valid choice" in hidden[1]
    assert {line.split(",")[1] for line in exported.splitlines()[1:]} == {"login"}


def test_a_warning_of_a_lockout_does_not_tell_that_its_reader_is_exempt() -> None:
    sent = typed(("5", "1m"), name="narrow", applies_to="all", pattern="", mode="enforce")
    told = []
    for permissions in ((), ("view_override",)):
        client = staff("view_raterule", *EDITS_RULES, *permissions)
        overridden("allow", f"user:{User.objects.latest('pk').pk}")
        told.append(client.post(ADD, sent).status_code)
    assert told == [200, 302]


def test_a_note_about_a_saved_block_does_not_quote_its_identity_to_who_sees_masks() -> None:
    made = overridden(identity="user:4711", rule="nowhere")
    client = staff("view_override", "change_override")
    text = said(client.post(override_pages.change(made), override_pages.typed(rule="nowhere", reason="once more"), follow=True))
    assert "There is no rule" in text and "4711" not in text


def test_whoever_may_delete_blocks_but_not_view_them_is_shown_none() -> None:
    made = overridden()
    client = staff("delete_override")
    page = reverse("admin:ratewindow_override_delete", args=[made.pk])
    assert client.get(page).status_code == client.post(page, {"post": "yes"}).status_code == 403
    assert staff("delete_override", "view_override").post(page, {"post": "yes"}).status_code == 302
