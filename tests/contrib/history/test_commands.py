"""`manage.py ratewindow history`, `restore`, `export`, `import` and `apply`."""

import io
import json
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ratewindow.contrib.history import files, values
from ratewindow.contrib.history.models import Edit
from ratewindow.models import Override, RateRule
from ratewindow.operations.clients import release
from tests.support.commands import run, wrong
from tests.support.rule_files import LOGIN, SEARCH, document, make, stored

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.json"
    path.write_bytes(document(SEARCH, {**LOGIN, "cost": 2}))
    return path


class TestHistory:
    def test_it_lists_who_what_and_each_field_the_newest_first(self) -> None:
        make(LOGIN)
        run("mode", "login", "off", "--reason", "maintenance")
        Override.objects.block("header:x-api-key:very-secret")
        release("user:42")
        text = run("history")
        assert "(command mode): maintenance\n    Mode: Enforce → Off" in text
        assert "Client user:42 released" in text and "very-secret" not in text
        assert text.index("released") < text.index("maintenance") < text.index("Rule login added")
        assert "block" not in run("history", "login") and run("history", "login", "--limit", "1").count("Rule login") == 1

    def test_nothing_is_said_so(self) -> None:
        assert run("history") == "No edits yet."

    @pytest.mark.parametrize("limit", ["0", "-5"])
    def test_a_number_of_edits_that_is_none_is_an_error(self, limit: str) -> None:
        assert "write for example 20" in wrong("history", "--limit", limit)


class TestRestore:
    def test_an_edit_is_undone_after_a_preview_and_the_undoing_too(self) -> None:
        make(LOGIN)
        make({**LOGIN, "cost": 2})
        number = str(Edit.objects.all()[0].pk)
        assert "add --yes" in wrong("restore", number) and RateRule.objects.get().cost == 2
        assert run("restore", number, "--yes", "--reason", "a mistake").endswith("Restored: 0 added, 1 changed, 0 deleted.")
        edit = Edit.objects.all()[0]
        assert (RateRule.objects.get().cost, edit.way, edit.reason) == (1, "command restore", "a mistake")
        assert run("restore", number, "--yes") == "Nothing to restore: it is so already."

    def test_without_a_number_it_is_the_last_edit_or_that_of_a_rule(self) -> None:
        make(LOGIN, SEARCH)
        RateRule.objects.get(name="login").delete()
        RateRule.objects.get(name="search").delete()
        release("user:42")
        run("restore", "--rule", "login", "--yes")
        assert stored() == [LOGIN]
        run("restore", "--yes")  # of the restoring itself
        assert stored() == []

    def test_what_cannot_be_restored_is_a_sentence(self) -> None:
        assert "There is no such edit" in wrong("restore") == wrong("restore", "99")
        release("user:42")
        assert "is a release, which cannot be taken back" in wrong("restore", str(Edit.objects.get().pk))


class TestExport:
    def test_a_file_is_written_as_it_ends_and_standard_output_is_json(self, tmp_path: Path) -> None:
        make(LOGIN, SEARCH)
        assert json.loads(run("export")) == {"ratewindow": 1, "rules": [LOGIN, SEARCH]}
        for name, syntax in (("a.json", files.JSON), ("a.yaml", files.YAML), ("a", files.JSON)):
            assert run("export", str(tmp_path / name)).endswith("has 2 rules.")
            rules = RateRule.objects.prefetch_related("windows")
            assert (tmp_path / name).read_bytes() == files.write(rules, syntax)

    def test_on_standard_output_it_has_the_same_bytes_whatever_the_terminal_has(self) -> None:
        make({**LOGIN, "description": "Anmeldung für alle"})
        terminal = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="\r\n")
        call_command("ratewindow", "export", "-", stdout=terminal)
        assert terminal.buffer.getvalue() == files.write(RateRule.objects.prefetch_related("windows"))

    def test_a_file_that_cannot_be_written_is_a_sentence(self, tmp_path: Path) -> None:
        assert "cannot be written" in wrong("export", str(tmp_path))


class TestImport:
    def test_what_the_file_names_is_added_and_changed(self, file: Path) -> None:
        make(LOGIN, {**LOGIN, "name": "other"})
        assert run("import", str(file), "--yes", "--reason", "a new release").splitlines()[:2] == [
            "~ Rule login",
            "    Cost: 1 → 2",
        ]
        assert [rule["name"] for rule in stored()] == ["login", "other", "search"]
        assert {edit.reason for edit in Edit.objects.filter(way="command import")} == {"a new release"}
        assert run("import", str(file), "--yes") == f"Nothing to change: the site has everything that {file} has."

    def test_without_yes_nothing_changes(self, file: Path) -> None:
        assert wrong("import", str(file)).endswith("To make these changes, add --yes.")
        assert stored() == []

    def test_standard_input_is_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Given:
            buffer = io.BytesIO(document(LOGIN))

        monkeypatch.setattr(sys, "stdin", Given())
        run("import", "-", "--yes")
        assert stored() == [LOGIN]

    def test_a_bad_file_is_said_with_every_place_and_changes_nothing(self, file: Path) -> None:
        file.write_bytes(document({**LOGIN, "mode": "on"}, {**SEARCH, "key": ""}))
        message = wrong("import", str(file), "--yes")
        assert message.startswith(f"{file} cannot be used, nothing was changed:\n")
        assert 'rules[0] "login" mode' in message and 'rules[1] "search" key' in message and stored() == []


class TestApply:
    def test_the_rules_are_made_equal_and_a_second_time_changes_nothing(self, file: Path) -> None:
        make({**LOGIN, "name": "other"})
        assert "- Rule other" in run("apply", str(file))
        assert [(rule["name"], rule.get("cost", 1)) for rule in stored()] == [("login", 2), ("search", 1)]
        assert run("apply", str(file)).endswith("nothing had to be changed.")

    def test_check_changes_nothing_and_fails_with_1_if_the_rules_differ_and_2_if_the_file_is_bad(self, file: Path) -> None:
        with pytest.raises(CommandError, match="apply would make these changes: 2 added") as raised:
            run("apply", str(file), "--check")
        assert raised.value.returncode == 1 and stored() == []
        run("apply", str(file))
        assert "The rules are as" in run("apply", str(file), "--check")
        file.write_text("nothing")
        with pytest.raises(CommandError) as raised:
            run("apply", str(file), "--check")
        assert raised.value.returncode == 2

    def test_a_site_edited_meanwhile_is_not_changed(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        make(LOGIN)
        original = values.apply

        def late(*arguments: object) -> None:
            RateRule.objects.update(cost=5)
            original(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(values, "apply", late)
        assert "Somebody has edited the site meanwhile" in wrong("apply", str(file))
        assert RateRule.objects.get().cost == 5
