"""What staff may do as functions: who may, what is wrong, and what is saved."""

import inspect
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.core.exceptions import PermissionDenied, ValidationError
from django.utils import timezone

import ratewindow
from ratewindow import staff
from ratewindow.counting.collecting import store_who
from ratewindow.counting.sums import Counted, Group as Named, Who
from ratewindow.models import Override, RateRule, ThrottleStat, origin
from ratewindow.rulebook import reading
from tests.support.rule_pages import define

pytestmark = pytest.mark.django_db(transaction=True)

ME = "ip:203.0.113.9"


def user(*permissions: str, name: str = "ann", **fields: Any) -> Any:
    made = User.objects.create(username=name, **fields)
    made.user_permissions.set(Permission.objects.filter(content_type__app_label="ratewindow", codename__in=permissions))
    return made


def errors(act: Callable[[], object]) -> dict[str, list[str]]:
    with pytest.raises(ValidationError) as raised:
        act()
    return raised.value.message_dict


ACTS: dict[str, tuple[list[set[str]], Callable[[Any], object]]] = {
    "rules": ([{"view_raterule"}, {"change_raterule"}], lambda by: staff.rules(by=by)),
    "define": ([{"add_raterule"}], lambda by: staff.define("new", "5/m", by=by)),
    "define, enforced": (
        [{"add_raterule", "enforce_raterule"}],
        lambda by: staff.define("new", "5/m", mode="enforce", by=by),
    ),
    "edit": ([{"change_raterule"}], lambda by: staff.edit("login", cost=2, by=by)),
    "edit, enforced": ([{"change_raterule", "enforce_raterule"}], lambda by: staff.edit("login", mode="enforce", by=by)),
    "edit, for more": (
        [{"change_raterule", "enforce_raterule"}],
        lambda by: staff.edit("partly", enforce_percent=11, by=by),
    ),
    "set_mode": ([{"change_raterule"}], lambda by: staff.set_mode(RateRule.objects.all(), "off", by=by)),
    "set_mode, enforced": (
        [{"change_raterule", "enforce_raterule"}],
        lambda by: staff.set_mode(RateRule.objects.all(), "enforce", by=by),
    ),
    "delete": ([{"delete_raterule"}], lambda by: staff.delete("login", by=by)),
    "overrides": ([{"view_override"}, {"change_override"}], lambda by: staff.overrides(by=by)),
    "block": ([{"add_override"}], lambda by: staff.block(ME, by=by)),
    "block everybody": (
        [{"add_override", "switch_limits"}],
        lambda by: staff.exempt("*", rule="login", duration="1h", by=by),
    ),
    "exempt": ([{"add_override"}], lambda by: staff.exempt(ME, by=by)),
    "rate": ([{"add_override"}], lambda by: staff.rate(ME, "9/m", by=by)),
    "end": ([{"change_override"}], lambda by: staff.end(Override.objects.get().pk, by=by)),
    "release": ([{"release_identity"}], lambda by: staff.release(ME, by=by)),
    "report": ([{"view_throttlestat"}], lambda by: staff.report(by=by)),
}
EVERY = {permission for opens, _ in ACTS.values() for each in opens for permission in each}


@pytest.fixture
def rows() -> None:
    define()
    define("partly", mode="enforce", enforce_percent=10)
    Override.objects.block("user:42", duration="1h")
    reading.reload()


def stored() -> list[Any]:
    return [list(model.objects.values().order_by("pk")) for model in (RateRule, Override)]


@pytest.mark.parametrize("act", ACTS)
def test_each_function_takes_its_permission_and_no_other_will_do(act: str, rows: None) -> None:
    opens, function = ACTS[act]
    before = stored()
    for lacking in opens[0]:
        others = EVERY - {lacking} - {permission for each in opens[1:] for permission in each}
        with pytest.raises(PermissionDenied):
            function(user(*others, name=lacking, is_staff=True))
    with pytest.raises(PermissionDenied):
        function(AnonymousUser())
    assert stored() == before
    for number, enough in enumerate(opens):
        function(user(*enough, name=f"enough {number}"))


def test_every_function_is_among_these_and_takes_the_user_by_keyword() -> None:
    own = {name: each for name, each in vars(staff).items() if inspect.isfunction(each) and each.__module__ == staff.__name__}
    acting = {name: inspect.signature(each) for name, each in own.items() if "by" in inspect.signature(each).parameters}
    acting = {name: each for name, each in acting.items() if each.parameters["by"].kind == inspect.Parameter.KEYWORD_ONLY}
    assert {act.partition(",")[0].partition(" ")[0] for act in ACTS} == acting.keys()
    assert all(each.parameters["by"].default is inspect.Parameter.empty for each in acting.values())


class TestRules:
    @pytest.fixture
    def by(self) -> Any:
        return user("add_raterule", "change_raterule", "enforce_raterule")

    def test_a_new_one_is_in_shadow_and_has_the_columns_that_the_words_stand_for(self, by: Any) -> None:
        rule = staff.define("login", "5/m; 20/h", path="/login/", methods=["POST", "GET"], key="user", by=by)
        rule.refresh_from_db()
        assert (rule.mode, rule.applies_to, rule.pattern, rule.methods) == ("shadow", "path", "/login/", "GET,POST")
        assert [str(each) for each in rule.windows.all()] == ["5 in 1m", "20 in 1h"]

    def test_it_holds_at_once_where_it_is_saved(self, by: Any) -> None:
        staff.define("calls", "1/m", mode="enforce", by=by)
        assert [bool(ratewindow.hit("calls", ME)) for _ in range(2)] == [True, False]

    def test_limits_have_the_options_of_a_rate_in_code(self, by: Any) -> None:
        rule = staff.define("api", "5/m", algorithm="token_bucket", burst=9, by=by)
        assert rule.windows.values_list("algorithm", "burst").get() == ("token_bucket", 9)

    @pytest.mark.parametrize("rate", [None, "5/m"])
    def test_a_soft_rule_that_slides_is_refused_as_in_the_form(self, by: Any, rate: str | None) -> None:
        staff.define("login", "5/m", by=by)
        with pytest.raises(ValidationError) as refused:
            staff.edit("login", soft=True, rate=rate, by=by)
        assert refused.value.message_dict == {
            "soft": ["a soft limit is counted by fixed_window, not by sliding_window: choose fixed_window, or clear soft limit."]
        }
        with pytest.raises(ValidationError):
            staff.define("other", "5/m", soft=True, by=by)
        assert not RateRule.objects.get().soft
        assert staff.define("quota", "5/30d", algorithm="fixed_window", aligned_to="month", soft=True, by=by).soft

    def test_an_edit_changes_what_it_names_and_nothing_else(self, by: Any) -> None:
        staff.define("login", "5/m; 20/h", path="/login/", penalty="15m", by=by)
        staff.edit("login", description="why", by=by)
        rule = RateRule.objects.get()
        assert (rule.description, rule.pattern, rule.penalty) == ("why", "/login/", "15m")
        assert rule.windows.count() == 2
        staff.edit("login", rate="7/m", route="login", by=by)
        rule.refresh_from_db()
        assert (rule.applies_to, rule.pattern, str(rule.windows.get())) == ("route", "login", "7 in 1m")

    @pytest.mark.parametrize(
        ("given", "field", "words"),
        [
            ({"rate": "many"}, "rate", "many"),
            ({"rate": ""}, "rate", "5/m"),
            ({"algorithm": "dice"}, "rate", "dice"),
            ({"name": "no name"}, "name", "not a rule name"),
            ({"name": "login"}, "name", "already exists"),
            ({"cost": -1}, "cost", "0"),
            ({"cost": "5"}, "cost", "a whole number"),
            ({"count_refused": "no"}, "count_refused", "True or False"),
            ({"key": "tenant"}, "key", "tenant"),
            ({"mode": "loud"}, "mode", "loud"),
            ({"colour": "red"}, "colour", "no such field"),
            ({"mode_since": None}, "mode_since", "no such field"),
            ({"id": 1}, "id", "no such field"),
            ({"regex": "("}, "pattern", "("),
            ({"path": "/a/", "prefix": "/b/"}, "rule", "give one of path="),
        ],
    )
    def test_what_is_wrong_is_said_by_field_and_nothing_is_saved(
        self, by: Any, given: dict[str, Any], field: str, words: str
    ) -> None:
        define()
        before = stored()
        found = errors(lambda: staff.define(**{"name": "new", "rate": "5/m", **given}, by=by))
        assert list(found) == [field] and words in " ".join(found[field]), found
        assert stored() == before

    def test_several_mistakes_are_told_together(self, by: Any) -> None:
        assert errors(lambda: staff.define("x", "5/m", cost=-1, response_status=200, by=by)).keys() == {"cost", "response_status"}

    def test_code_as_a_key_is_for_superusers_and_may_stay(self, by: Any) -> None:
        code = f"{__name__}.user"
        with pytest.raises(PermissionDenied, match="only superusers may use"):
            staff.define("x", "5/m", key=code, by=by)
        staff.define("x", "5/m", key=code, by=user(name="root", is_superuser=True))
        staff.edit("x", description="mine", by=by)
        assert RateRule.objects.get().description == "mine"

    def test_who_may_not_enforce_keeps_an_enforced_rule_enforced(self) -> None:
        define("login", mode="enforce", enforce_percent=10)
        editor = user("change_raterule", name="editor")
        staff.edit("login", rate="7/m", mode="enforce", by=editor)
        with pytest.raises(PermissionDenied, match="for more clients"):
            staff.edit("login", enforce_percent=20, by=editor)
        staff.edit("login", enforce_percent=5, by=editor)
        staff.edit("login", mode="off", by=editor)
        with pytest.raises(PermissionDenied, match="You may not enforce rules"):
            staff.edit("login", mode="enforce", by=editor)

    def test_a_rule_that_is_not_there_is_no_error_of_a_form(self, by: Any) -> None:
        with pytest.raises(RateRule.DoesNotExist):
            staff.edit("gone", cost=1, by=by)

    def test_rules_come_with_their_limits_and_by_name(self, django_assert_num_queries: Any) -> None:
        for name in ("b", "a"):
            define(name)
        by = user("view_raterule", is_superuser=True)
        with django_assert_num_queries(2):
            assert [(rule.name, str(rule.windows.all()[0])) for rule in staff.rules(by=by)] == [
                ("a", "5 in 1m"),
                ("b", "5 in 1m"),
            ]


class TestBlocks:
    @pytest.fixture
    def by(self) -> Any:
        return user("add_override", "change_override", "view_identity")

    def test_a_block_says_who_made_it_why_and_how_long_it_lasts(self, by: Any) -> None:
        block = staff.block("203.0.113.9", duration=timedelta(hours=1), rule="login", reason="spam", by=by)
        assert (block["who"], block["action"], block["rule"], block["created_by"]) == (ME, "block", "login", "ann")
        row = Override.objects.get()
        assert (row.pk, row.source, row.reason, row.created_by) == (block["pk"], "api", "spam", by)
        assert abs(row.expires_at - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)
        assert staff.overrides(by=by) == [block]

    def test_it_ends_once(self, by: Any) -> None:
        pk = staff.block(ME, by=by)["pk"]
        assert [staff.end(pk, by=by) for _ in range(2)] == [True, False]
        assert staff.overrides(by=by) == []

    def test_the_newest_come_first_and_no_more_than_asked_for(self, by: Any) -> None:
        for number in range(3):
            staff.exempt(f"user:{number}", by=by)
        assert [each["who"] for each in staff.overrides(limit=2, by=by)] == ["user:2", "user:1"]

    def test_clients_are_masked_for_who_may_not_see_them(self, by: Any) -> None:
        staff.block("header:x-api-key:0123456789", by=by)
        masking = user("add_override", "view_override", name="masking")
        assert staff.block(ME, by=masking)["who"] == "ip:203.0.113.x"
        assert [each["who"] for each in staff.overrides(by=masking)] == ["ip:203.0.113.x", "header:x-api-key:…"]

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"identity": ""}, "identity"),
            ({"identity": "203.0.113.999"}, "identity"),
            ({"duration": "soon"}, "duration"),
            ({"duration": "1h", "expires_at": timezone.now() + timedelta(days=1)}, "duration"),
            ({"rule": "no name"}, "rule"),
            ({"reason": "x" * 201}, "reason"),
            ({"created_by": None}, "created_by"),
            ({"identity": "*"}, "rule"),
            ({"rate": "5/m"}, "rate"),
        ],
    )
    def test_what_is_wrong_is_said_by_field(self, by: Any, given: dict[str, Any], field: str) -> None:
        assert field in errors(lambda: staff.block(**{"identity": ME, **given}, by=by))
        assert not Override.objects.exists()

    @pytest.mark.parametrize("identity", ["user:{pk}", "group:us"])
    def test_nobody_blocks_themselves_by_user_or_group(self, by: Any, identity: str) -> None:
        by.groups.add(Group.objects.create(name="us"))
        found = errors(lambda: staff.block(identity.format(pk=by.pk), by=by))
        assert "lock yourself out" in found["identity"][0]

    def test_login_names_are_found_for_who_may_see_users(self, by: Any) -> None:
        assert "identity" in errors(lambda: staff.block("ann", by=by))
        by = User.objects.get(pk=by.pk)
        by.user_permissions.add(Permission.objects.get(codename="view_user"))
        assert staff.exempt("ann", by=by)["who"] == f"user:{by.pk}"

    def test_a_rate_replaces_that_of_the_rule(self, by: Any) -> None:
        define("calls", "1/m", mode="enforce")
        staff.rate(ME, "2/m", rule="calls", by=by)
        assert [bool(ratewindow.hit("calls", ME)) for _ in range(3)] == [True, True, False]


class TestARelease:
    def test_it_deletes_counts_and_ends_blocks_and_tells_of_these_whom_it_may(self) -> None:
        define("calls", "1/m", mode="enforce")
        Override.objects.block(ME)
        assert not ratewindow.hit("calls", ME)
        told = staff.release("203.0.113.9", by=user("release_identity", "view_identity", "view_override"))
        assert (told.rules, told.ended, told.failure) == ((), 1, "")
        assert [bool(ratewindow.hit("calls", ME)) for _ in range(2)] == [True, False]
        hidden = staff.release(ME, "calls", by=user("release_identity", name="bob"))
        assert (hidden.rules, hidden.ended) == (("calls",), None)
        assert "any block that named it ended" in hidden.in_words()

    def test_what_is_wrong_is_said_by_field(self) -> None:
        by = user("release_identity")
        assert "identity" in errors(lambda: staff.release("ip:nowhere", by=by))
        assert "no rule 'gone'" in errors(lambda: staff.release(ME, "gone", by=by))["rule"][0]
        with pytest.raises(PermissionDenied, match="only superusers"):
            staff.release(f"{__name__}.user:x", by=by)


class TestTheReport:
    @pytest.fixture
    def counted(self) -> None:
        define("login", path="/login/")
        minute = timezone.now().replace(second=0, microsecond=0) - timedelta(minutes=2)
        ThrottleStat.objects.create(rule="login", resolution="minute", start=minute, passed=100, refused=3)
        ThrottleStat.objects.create(rule="blocks", resolution="minute", start=minute, refused=7)
        store_who({(minute, "login"): Who(Counted(3, 0, 103), Named({ME: Counted(3)}), Named({}))})

    def test_it_says_what_its_page_says_with_numbers(self, counted: None, admin_client: Any) -> None:
        found = staff.report(by=user(is_superuser=True))
        page = admin_client.get("/admin/ratewindow/throttlestat/").context
        assert found["summary"] == page["summary"] and "in the last hour" in found["summary"]
        assert found["figures"] == page["figures"]
        assert found["clients"] == [{"who": ME, "refused": 3, "would_refuse": 0}]
        assert [(rule["name"], rule["refused"]) for rule in found["rules"]] == [("blocks", 7), ("login", 3)]

    def test_masks_and_hides_what_its_page_masks_and_hides(self, counted: None) -> None:
        found = staff.report(by=user("view_throttlestat"))
        assert [each["who"] for each in found["clients"]] == ["ip:203.0.113.x"]
        assert [rule["name"] for rule in found["rules"]] == ["login"]

    @pytest.mark.parametrize("hours", [0, -1, 10**6])
    def test_an_impossible_length_is_an_error(self, hours: int) -> None:
        assert "hours" in errors(lambda: staff.report(hours=hours, by=user("view_throttlestat")))

    def test_any_other_number_of_hours_will_do(self, counted: None) -> None:
        assert staff.report(hours=5, by=user("view_throttlestat"))["summary"]


class TestWhoseEditsTheyAre:
    def test_those_of_the_user_by_the_api(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = list[Any]()
        save = RateRule.save

        def watched(rule: RateRule, *arguments: Any, **options: Any) -> None:
            seen.append(origin.current())
            save(rule, *arguments, **options)

        monkeypatch.setattr(RateRule, "save", watched)
        by = user("add_raterule")
        staff.define("one", "5/m", by=by, reason="a trial")
        with origin.edits("admin", user=by, reason="on a page"):
            staff.define("two", "5/m", by=by)
        with origin.edits("command x", by="root@host"):
            staff.define("three", "5/m", by=by)
        assert [(each.way, each.by, each.reason) for each in seen] == [
            ("api", "ann", "a trial"),
            ("admin", "ann", "on a page"),
            ("api", "ann", ""),
        ]

    def test_an_edit_that_fails_leaves_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(staff, "write_limits", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            staff.define("one", "5/m", by=user("add_raterule"))
        assert not RateRule.objects.exists()
