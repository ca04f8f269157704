"""Export and import in the admin: the file, the preview, the confirmation."""

import html
import json
import re
import time
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from ratewindow.admin.documents import page as documents_page
from ratewindow.admin.documents.page import MOST_BYTES, MOST_NODES
from ratewindow.models import Edit, Override, RateRule
from ratewindow.operations.documents import applying, text
from ratewindow.operations.documents.applying import apply
from ratewindow.operations.documents.parsing import DocumentError
from ratewindow.operations.documents.site import site
from tests.support.document_pages import EXPORT, IMPORT, confirm, hidden, written
from tests.support.documents import BLOCK, LOGIN, SEARCH, document
from tests.support.rule_pages import LIST, errors, said
from tests.support.worst_strings import WORST

pytestmark = pytest.mark.django_db


class TestExport:
    def test_the_file_is_that_of_the_command(self, page: Client) -> None:
        apply(document(rules=[LOGIN, SEARCH], overrides=[BLOCK]))
        assert "Export" in page.get(LIST).content.decode() and page.get(EXPORT).status_code == 200
        for syntax in text.SYNTAXES:
            file = page.post(EXPORT, {"syntax": syntax, "sections": ["rules", "overrides", "switch"]})
            assert file.content == text.to_bytes(site(), syntax)
            assert file["Content-Disposition"] == f'attachment; filename="limits.{syntax}"'

    def test_selected_rules_are_exported_alone(self, page: Client) -> None:
        apply(document(rules=[LOGIN, SEARCH], overrides=[BLOCK]))
        login = RateRule.objects.get(name="login")
        form = page.post(LIST, {"action": "export", "_selected_action": [login.pk]})
        assert "A file of 1 rule: login." in form.content.decode() and 'value="overrides"' not in form.content.decode()
        file = page.post(EXPORT, {"syntax": "json", "sections": ["rules"], "rule": ["login"]})
        assert file.content == text.to_bytes(document(rules=[LOGIN]), "json")

    def test_very_many_blocks_are_exported_by_command(self, page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(documents_page, "MOST_OVERRIDES", 0)
        apply(document(overrides=[BLOCK]))
        refused = page.post(EXPORT, {"syntax": "json", "sections": ["overrides"]})
        assert errors(refused) == [
            "There are 1 blocks and exemptions, and at most 0 can be exported here. Use manage.py ratewindow export."
        ]
        assert page.post(EXPORT, {"syntax": "json", "sections": ["rules"]})["Content-Disposition"]

    def test_without_pyyaml_there_is_json(self, page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(text, "installed", lambda: (text.JSON,))
        shown = page.get(EXPORT).content.decode()
        assert "pip install" in shown and 'value="yaml"' not in shown


class TestImport:
    def test_it_shows_what_would_change_and_then_changes_it(self, page: Client) -> None:
        apply(document(rules=[LOGIN, SEARCH]))
        preview = page.post(IMPORT, {"pasted": written(document(rules=[{**LOGIN, "cost": 2}], overrides=[BLOCK]))})
        shown = preview.content.decode()
        assert "Nothing has been changed yet" in shown and "Rule login" in shown and "Block: ip:203.0.113.0/24" in shown
        assert re.search(r"Cost</th><td><del>1</del></td><td><ins>2</ins>", shown)
        assert RateRule.objects.get(name="login").cost == 1
        done = confirm(page, preview, why="a new release")
        assert "Imported: 1 added, 1 changed, 0 removed." in said(done)
        assert site(["rules", "overrides"]) == document(rules=[{**LOGIN, "cost": 2}, SEARCH], overrides=[BLOCK])
        made = Override.objects.get()
        assert (made.source, made.created_by.get_username()) == ("admin", "boss")
        assert {(edit.way, edit.by, edit.reason) for edit in Edit.objects.filter(way="admin")} >= {
            ("admin", "boss", "a new release")
        }

    @pytest.mark.django_db(transaction=True)  # each step is an edit of its own
    def test_an_import_is_undone_by_the_link_of_its_message(self, page: Client) -> None:
        apply(document(rules=[LOGIN]))
        before = site()
        done = confirm(page, page.post(IMPORT, {"pasted": written(document(rules=[{**LOGIN, "cost": 2}, SEARCH]))}))
        (url,) = re.findall(r'Imported: .*<a href="([^"]+)">Undo…</a>', done.content.decode())
        preview = page.get(url).content.decode()
        (shown,) = re.findall(r'name="shown" value="([^"]+)"', preview)
        page.post(url, {"shown": shown, "reason": "a mistake"})
        assert site() == before

    def test_a_file_is_uploaded_and_may_replace_everything(self, page: Client) -> None:
        apply(document(rules=[LOGIN, SEARCH], overrides=[BLOCK]))
        file = SimpleUploadedFile("rules.json", text.to_bytes(document(rules=[SEARCH]), text.JSON))
        preview = page.post(IMPORT, {"file": file, "exact": "on"})
        assert "Removed" in preview.content.decode()
        confirm(page, preview)
        assert site(["rules", "overrides"]) == document(rules=[SEARCH], overrides=[BLOCK])

    def test_a_file_that_changes_nothing_says_so(self, page: Client) -> None:
        apply(document(rules=[LOGIN]))
        shown = page.post(IMPORT, {"pasted": written(document(rules=[LOGIN]))}).content.decode()
        assert "Nothing would change" in shown and 'name="document"' not in shown

    @pytest.mark.parametrize(
        ("sent", "message"),
        [
            ({}, "Choose a file, or paste its text: one of the two."),
            ({"pasted": "rules: ["}, "line 1, column 9: this is not YAML that can be read"),
            ({"pasted": "rules: []"}, "This is no document of ratewindow"),
            ({"pasted": '{"ratewindow": 1, "rules": [{"name": "A", "limits": []}]}'}, 'rules[0] "A": name: '),
            (
                {"pasted": "x" * (MOST_BYTES + 1)},
                f"This has {MOST_BYTES + 1:,} bytes, and at most {MOST_BYTES:,} can be imported here.",
            ),
            (
                {"pasted": "[" + "[],\n" * MOST_NODES},
                "line 20000, column 1: this is not YAML that can be read: this is too long to be read here: write JSON",
            ),
            (
                {"pasted": json.dumps({"ratewindow": 1, "rules": [{"limits": [{}] * 9}] * 160, "overrides": [5] * 401})},
                "This has 2,001 rules, limits, blocks and exemptions, and at most 2,000 can be imported here. For more:",
            ),
        ],
    )
    def test_what_cannot_be_used_is_said_and_stays_in_the_form(self, page: Client, sent: dict[str, str], message: str) -> None:
        response = page.post(IMPORT, sent)
        assert any(html.unescape(each).startswith(message) for each in errors(response)), errors(response)
        assert not RateRule.objects.exists()

    @pytest.mark.parametrize(
        "pasted",
        [
            "[" + "[]," * 170_000 + "]",
            "[" * 524_000,
            '{"rules": ' + "[" * 524_000,
            '{"ratewindow": 1, ' + ", ".join(f'"unknown-{number}": 1' for number in range(20_000)) + "}",
            '{"ratewindow": 1, "rules": [{' + ", ".join(f'"unknown-{number}": 1' for number in range(20_000)) + "}]}",
            '{"ratewindow": 1, "rules": [' + ",".join(['{"a":1}'] * 1_000) + "]}",
            '{"ratewindow": 1, "overrides": [' + ",".join(['{"a":1}'] * 1_000) + "]}",
            '{"ratewindow": 1, "rules": [{"name": "a", "limits": [' + ",".join(["{}"] * 100_000) + "]}]}",
            '{"ratewindow": 1, "rules": [{"' + "a" * 500_000 + '": 1}]}',
            '{"ratewindow": 1, "rules": [{"cost": ' + "9" * 500_000 + "}]}",
            "&a [" + "*a," * 170_000 + "]",
            "- \n" * 170_000,
            "? a\n" * 130_000,
            "---\n" * 130_000,
            "#\n" * 260_000,
            "%a\n" * 170_000,
            "a: '" + "x\n\n" * 170_000,
            "a b " * 130_000,
            "- {" + "a," * 260_000,
            "- " + "a: {" * 130_000,
            "- |\n" + " a\n" * 170_000,
        ],
        ids=lambda pasted: pasted[:34],
    )
    def test_no_text_takes_long_to_refuse(self, page: Client, pasted: str) -> None:
        """Of half a megabyte some took 4 to 6 seconds."""
        began_s = time.thread_time()
        assert errors(page.post(IMPORT, {"pasted": pasted}))
        assert time.thread_time() - began_s < 3

    def test_a_site_that_was_edited_after_the_preview_is_shown_again(self, page: Client) -> None:
        apply(document(rules=[LOGIN]))
        preview = page.post(IMPORT, {"pasted": written(document(rules=[{**LOGIN, "cost": 2}]))})
        RateRule.objects.filter(name="login").update(cost=5)
        again = confirm(page, preview)
        assert "Somebody has edited the site since this preview" in again.content.decode()
        assert re.search(r"Cost</th><td><del>5</del></td><td><ins>2</ins>", again.content.decode())
        assert RateRule.objects.get().cost == 5
        confirm(page, again)
        assert RateRule.objects.get().cost == 2

    def test_a_document_that_was_tampered_with_is_refused(self, page: Client) -> None:
        preview = page.post(IMPORT, {"pasted": written(document(rules=[LOGIN]))})
        response = page.post(IMPORT, {"document": hidden(preview)[:-2] + "xx"}, follow=True)
        assert "Import the file again" in response.content.decode() and not RateRule.objects.exists()

    def test_a_lockout_is_asked_about_first(self, page: Client) -> None:
        everything = {**SEARCH, "mode": "enforce", "applies_to": "all", "limits": [{"limit": 2, "period": "1h"}]}
        del everything["pattern"]
        preview = page.post(IMPORT, {"pasted": written(document(rules=[everything]))})
        asked = confirm(page, preview)
        assert "You would be refused" in asked.content.decode() and not RateRule.objects.exists()
        confirm(page, asked, lockout_known="on")
        assert RateRule.objects.get().mode == "enforce"

    def test_the_worst_strings_are_shown_as_they_are(self, page: Client) -> None:
        strings = [each for each in WORST if each.isprintable()]
        rules = [{**SEARCH, "name": f"r{index}", "description": each} for index, each in enumerate(strings)]
        preview = page.post(IMPORT, {"pasted": written(document(rules=rules))})
        shown = preview.content.decode()
        assert "<script>alert" not in shown and html.escape("<script>alert(1)</script>") in shown
        confirm(page, preview)
        assert {rule["description"] for rule in site(["rules"])["rules"] if "description" in rule} == set(strings) - {""}

    def test_it_asks_the_database_as_often_for_many_rules_as_for_one(
        self, page: Client, django_assert_num_queries: Any, django_assert_max_num_queries: Any
    ) -> None:
        with django_assert_max_num_queries(20) as few:
            page.post(IMPORT, {"pasted": written(document(rules=[LOGIN]))})
        many = document(rules=[{**LOGIN, "name": f"rule{number}"} for number in range(50)])
        with django_assert_num_queries(len(few)):
            page.post(IMPORT, {"pasted": written(many)})

    def test_a_document_that_is_valid_no_longer_is_a_message(self, page: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        preview = page.post(IMPORT, {"pasted": written(document(rules=[LOGIN]))})

        def invalid(*arguments: Any, **options: Any) -> None:
            raise DocumentError(["rules[0]: no longer valid."])

        monkeypatch.setattr(applying, "preview", invalid)
        answer = confirm(page, preview)
        assert "Nothing was imported: rules[0]: no longer valid." in said(answer) and not RateRule.objects.exists()
