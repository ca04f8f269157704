"""Rules defined from code, and dumped and loaded."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from ratewindow.models import RateRule

pytestmark = pytest.mark.django_db


class TestDefine:
    def test_it_makes_a_rule_with_its_limits_and_says_so(self) -> None:
        row, created = RateRule.objects.define("login", "5/m; 20/h", path="/login/", key="ip", mode="enforce", methods="post")
        row.refresh_from_db()
        row.full_clean()
        assert created
        assert (row.mode, row.applies_to, row.pattern, row.key, row.methods) == ("enforce", "path", "/login/", "ip", "POST")
        assert [str(each) for each in row.windows.all()] == ["5 in 1m", "20 in 1h"]

    def test_it_has_the_options_of_a_rate_in_code(self) -> None:
        row, _ = RateRule.objects.define("export", "5/m", algorithm="token_bucket", burst=20, response_status=503)
        (window,) = row.windows.all()
        assert (window.algorithm, window.burst, window.buckets, row.response_status) == ("token_bucket", 20, None, 503)
        (usual,) = RateRule.objects.define("usual", "5/m", algorithm="sliding_log")[0].windows.all()
        assert (usual.algorithm, usual.burst, usual.buckets, usual.aligned_to) == ("sliding_log", None, None, "")
        with pytest.raises(ValueError, match="sliding_window has none"):
            RateRule.objects.define("wrong", "5/m", burst=20)
        for field, bad in {"cost": 1.5, "enforce_percent": True, "message": None, "description": 5}.items():
            with pytest.raises(ValueError, match=f"{field} {bad!r} has the wrong type: write "):
                RateRule.objects.define("wrong", "5/m", **{field: bad})

    def test_it_leaves_alone_what_people_have_edited(self) -> None:
        RateRule.objects.define("login", "5/m", key="user")
        row, created = RateRule.objects.define("login", "9/h", key="ip", mode="enforce")
        assert not created
        assert (row.key, row.mode) == ("user", "shadow")
        assert [str(each) for each in row.windows.all()] == ["5 in 1m"]

    def test_it_overwrites_when_told_to_and_only_what_it_is_told(self) -> None:
        RateRule.objects.define("login", "5/m; 20/h", key="user", description="why")
        row, created = RateRule.objects.define("login", "9/h", mode="enforce", overwrite=True)
        row.refresh_from_db()
        assert not created
        assert (row.key, row.mode, row.description) == ("user", "enforce", "why")
        assert [str(each) for each in row.windows.all()] == ["9 in 1h"]

    def test_an_expression_needs_room_beside_the_stored_ones_unless_it_is_one_of_them(self) -> None:
        patterns = [f"[a{chr(0x100 + number)}].{{14}}N" for number in range(5)]
        for number, pattern in enumerate(patterns[:4]):
            RateRule.objects.define(f"stored-{number}", "5/m", regex=pattern)
        with pytest.raises(ValueError, match="is too large together with the other 4 expressions of its kind"):
            RateRule.objects.define("fifth", "5/m", regex=patterns[4])
        RateRule.objects.define("stored-3", "5/m", regex=patterns[4], overwrite=True)
        RateRule.objects.filter(name="stored-2").update(pattern="[a-z].{60}N")
        assert not RateRule.objects.define("stored-2", "5/m", regex="[a-z].{60}N")[1]

    def test_an_expression_of_a_rule_that_stays_as_it_is_needs_no_room(self) -> None:
        for number in range(4):
            RateRule.objects.define(f"stored-{number}", "5/m", regex=f"[a{chr(0x100 + number)}].{{14}}N")
        RateRule.objects.define("edited", "5/m", path="/")
        row, created = RateRule.objects.define("edited", "5/m", regex="b.{14}N")
        assert (row.pattern, created) == ("/", False)

    def test_methods_may_be_a_list(self) -> None:
        row, _ = RateRule.objects.define("login", "5/m", methods=["put", "POST"])
        assert row.methods == "POST,PUT"

    @pytest.mark.parametrize(
        ("name", "rate", "fields", "told"),
        [
            ("Log in", "5/m", {}, "'Log in' is not a rule name: use at most 64"),
            (None, "5/m", {}, "None is not a rule name"),
            ("login", "5/parsec", {}, "'parsec' is not a unit of time: use ms, s, m, h, d or w"),
            ("login", "", {}, "rule 'login': an empty rate limits nothing: write for example 5/m"),
            ("login", "5/m; 20/60s", {}, "has two limits for 1m"),
            ("login", 5, {}, "5 is not a rate"),
            ("login", "5/m", {"key": "shoe_size"}, "'shoe_size' is not a key"),
            ("login", "5/m", {"mode": "on"}, "rule 'login': mode: Value 'on' is not a valid choice."),
            ("login", "5/m", {"on_missing": "x"}, "on_missing: Value 'x' is not a valid choice."),
            ("login", "5/m", {"applies_to": "host"}, "applies_to: Value 'host' is not a valid choice."),
            ("login", "5/m", {"path": "login"}, "'login' is not a path: begin with /"),
            ("login", "5/m", {"path": "/a", "prefix": "/b"}, "give one of path=, prefix=, regex=, route=, not 2"),
            ("login", "5/m", {"regex": "(?=a)"}, "'(?=a)' is not a regular expression of RE2"),
            ("login", "5/m", {"regex": ""}, "an empty regular expression matches every path"),
            ("login", "5/m", {"route": "a b"}, "'a b' is not a URL name: write for example login"),
            ("login", "5/m", {"route": ""}, "'' is not a URL name"),
            (
                "login",
                "5/m",
                {"path": "/caf%C3%A9/"},
                "'/caf%C3%A9/' is percent-encoded, and paths are compared decoded: write /café/",
            ),
            ("login", "5/m", {"pattern": "/a"}, "a rule of this kind has no pattern"),
            ("login", "5/m", {"methods": "P0ST"}, "'P0ST' is not a registered HTTP method"),
            ("login", "5/m", {"path": "/" + "x" * 300}, "rule 'login': pattern: Ensure this value has at most 255 characters"),
        ],
    )
    def test_what_is_wrong_is_named_and_nothing_is_saved(self, name: Any, rate: Any, fields: dict[str, Any], told: str) -> None:
        with pytest.raises(ValueError) as error:
            RateRule.objects.define(name, rate, **fields)
        assert told in str(error.value)
        assert not RateRule.objects.exists()

    def test_an_unknown_field_is_named(self) -> None:
        with pytest.raises(TypeError, match="kye"):
            RateRule.objects.define("login", "5/m", kye="ip")

    def test_it_works_in_a_data_migration(self) -> None:
        loader = MigrationExecutor(connection).loader
        state = loader.project_state(loader.graph.leaf_nodes("ratewindow"))
        historical: Any = state.apps.get_model("ratewindow", "RateRule")
        assert historical is not RateRule
        _row, created = historical.objects.define("login", "5/m; 20/h", prefix="/api/", mode="enforce")
        assert created
        assert not historical.objects.define("login", "9/h")[1]
        historical.objects.define("login", "7/m", overwrite=True)
        assert [str(each) for each in RateRule.objects.get(name="login").windows.all()] == ["7 in 1m"]
        with pytest.raises(ValueError, match="is not a path"):
            historical.objects.define("other", "5/m", path="login")


def dumped(**options: Any) -> str:
    out = StringIO()
    call_command("dumpdata", "ratewindow", stdout=out, **options)
    return out.getvalue()


def loaded(text: str, folder: Path) -> None:
    (folder / "rules.json").write_text(text)
    call_command("loaddata", str(folder / "rules.json"), verbosity=0)


def test_rules_are_dumped_and_loaded(tmp_path: Path) -> None:
    RateRule.objects.define("login", "5/m")
    text = dumped()
    RateRule.objects.all().delete()
    loaded(text, tmp_path)
    assert str(RateRule.objects.get().windows.get()) == "5 in 1m"
