"""Old code on new tables, and new code on old ones, as `docs/operators/upgrading.md` says of each migration."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, migrations, models
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ModelState, ProjectState
from django.utils import timezone

from ratewindow.models import RateRule
from ratewindow.rulebook import current, reading
from tests.support.doors import behind_middleware, decorated, plain, statuses
from tests.support.fresh_process import reset_process
from tests.support.kinds_of_migrations import ADDITIVE, REMOVING, REPLACING, kind_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operators" / "upgrading.md"
# What each model needs of a row, in any version.
ROWS: dict[str, dict[str, Any]] = {
    "RateRule": {"name": "old"},
    "RuleWindow": {"limit": 5, "period": timedelta(minutes=1)},
    "Override": {"action": "block", "identity": "user:1"},
    "LimitSwitch": {"changed_at": timezone.now()},
    "ThrottleStat": {"rule": "old", "resolution": "hour", "start": timezone.now()},
    "OffenderStat": {"rule": "old", "resolution": "hour", "start": timezone.now(), "kind": "all"},
    "AlertChannel": {"name": "old"},
    "Edit": {"at": timezone.now(), "kind": "switch", "action": "changed", "way": "code"},
}
Name = tuple[str, str]


def ours() -> dict[Name, migrations.Migration]:
    """All migrations of the core and of rooms."""
    on_disk = MigrationLoader(None).disk_migrations
    return {key: migration for key, migration in on_disk.items() if key[0].startswith("ratewindow")}


def written() -> dict[Name, str]:
    """The kinds in the table of the page."""
    rows = re.findall(r"^\| `(\w+)` `(\w+)` \| (\w+) \|", PAGE.read_text(), re.MULTILINE)
    return {(app, name): kind for app, name, kind in rows}


def before(key: Name) -> ProjectState:
    return MigrationLoader(None).project_state([key], at_end=False)


def test_the_page_says_of_each_migration_whether_it_may_run_before_the_new_code() -> None:
    kinds = {key: kind_of(migration, before(key)) for key, migration in ours().items()}
    present = {app for app, _ in kinds}
    assert {key: kind for key, kind in written().items() if key[0] in present} == kinds


def test_since_the_first_release_no_migration_replaces_anything() -> None:
    """Nor adds what code of the version before cannot leave out: give a new column a `db_default`, or let it be NULL."""
    assert [key for key, kind in written().items() if kind == REPLACING] == [("ratewindow", "0003_limits")]


NOT_NULL = models.CharField(max_length=9)
EARLIER = ProjectState({("ratewindow", "thing"): ModelState("ratewindow", "Thing", [("name", NOT_NULL)])})


@pytest.mark.parametrize(
    ("operation", "kind"),
    [
        (migrations.AddField("Thing", "more", models.IntegerField(null=True)), ADDITIVE),
        (migrations.AddField("Thing", "more", models.IntegerField(default=0, db_default=0)), ADDITIVE),
        (migrations.AddField("Thing", "more", models.IntegerField(default=0)), REPLACING),
        (migrations.AlterField("Thing", "name", models.CharField("other words", max_length=9)), ADDITIVE),
        (migrations.AlterField("Thing", "name", models.CharField(max_length=5)), REPLACING),
        (migrations.AlterField("Thing", "name", models.TextField()), REPLACING),
        (migrations.RenameField("Thing", "name", "title"), REPLACING),
        (migrations.RenameModel("Thing", "Other"), REPLACING),
        (migrations.RemoveField("Thing", "name"), REMOVING),
        (migrations.DeleteModel("Thing"), REMOVING),
        (migrations.RunSQL("SELECT 1"), REPLACING),  # nobody knows what it does
    ],
    ids=lambda given: given if isinstance(given, str) else given.describe(),
)
def test_what_a_migration_is_told_by_what_it_does(operation: Any, kind: str) -> None:
    migration: Any = SimpleNamespace(initial=None, app_label="ratewindow", operations=[operation])
    assert kind_of(migration, EARLIER) == kind


@pytest.fixture
def migrated(transactional_db: None) -> Iterator[Any]:
    """Brings the tables to a migration; at the end they are those of the present code again."""

    def to(*key: str) -> None:
        MigrationExecutor(connection).migrate([key])

    yield to
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


def write_and_read(model: Any, **more: Any) -> Any:
    """What code does with a row."""
    made = model.objects.create(**ROWS[model.__name__], **more)
    read = model.objects.get(pk=made.pk)
    read.save()
    return read


@pytest.mark.parametrize("key", [key for key, kind in written().items() if kind == ADDITIVE], ids="-".join)
def test_code_of_before_an_additive_migration_goes_on_after_it(key: Name, migrated: Any) -> None:
    if key not in ours():
        pytest.skip(f"{key[0]} is not installed")
    migrated(*key)
    old = before(key).apps
    rule = write_and_read(old.get_model("ratewindow", "RateRule"))
    write_and_read(old.get_model("ratewindow", "RuleWindow"), rule=rule)
    for model in old.get_app_config(key[0]).get_models():
        if model.__name__ not in ("RateRule", "RuleWindow"):
            write_and_read(model)
    rule.delete()


def test_code_of_before_the_limits_counts_on_and_neither_adds_rules_nor_reads_a_penalty(migrated: Any) -> None:
    migrated("ratewindow", "0003_limits")
    old = before(("ratewindow", "0003_limits")).apps
    for name in ("ThrottleStat", "OffenderStat", "Override", "LimitSwitch"):
        write_and_read(old.get_model("ratewindow", name))
    rules = old.get_model("ratewindow", "RateRule").objects
    with pytest.raises(IntegrityError):
        rules.create(name="old")
    new, _ = RateRule.objects.define("new", "5/m")
    assert rules.get().windows.get().limit == 5
    RateRule.objects.filter(pk=new.pk).update(penalty="15m")
    with pytest.raises(TypeError):
        rules.get()


def test_new_code_before_a_migration_keeps_its_rules_and_says_what_to_run(
    migrated: Any, caplog: pytest.LogCaptureFixture
) -> None:
    RateRule.objects.define("login", "1/m", path="/login/", mode="enforce")
    reading.reload()
    migrated("ratewindow", "0002_used")
    reading.reload()
    assert statuses(behind_middleware(plain(False)), 2, "/login/") == [200, 429]
    reset_process()
    reading.reload()  # in a process that starts meanwhile
    assert statuses(behind_middleware(plain(False)), 3, "/login/") == [200] * 3
    assert statuses(behind_middleware(decorated(False, rate="1/h")), 2, "/login/") == [200, 429]
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    with pytest.raises(CommandError, match=r"run manage\.py migrate"):
        call_command("ratewindow", "check")
    migrated("ratewindow", "0003_limits")
    reading.reload()
    assert "login" in current.rulebook().by_name
