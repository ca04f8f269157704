"""`manage.py ratewindow export`."""

import json
import sys
from pathlib import Path

import pytest

from ratewindow.models import Override, RateRule
from ratewindow.operations.documents import text
from ratewindow.operations.documents.applying import apply
from ratewindow.operations.documents.site import site
from tests.support.commands import run, wrong
from tests.support.documents import BLOCK, LOGIN, SEARCH, document

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _site() -> None:
    apply(document(rules=[LOGIN, SEARCH], overrides=[BLOCK]))


def test_a_file_has_the_whole_site_in_the_format_of_its_ending(tmp_path: Path) -> None:
    for ending, syntax in (("yaml", text.YAML), ("json", text.JSON)):
        file = tmp_path / f"site.{ending}"
        assert run("export", str(file)) == f"{file} has 2 rules, 1 overrides, the switch."
        assert file.read_bytes() == text.to_bytes(site(), syntax)


def test_standard_output_has_the_document_and_nothing_else(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert json.loads(run("export", "--format", "json")) == site()
    from django.core.management import call_command

    call_command("ratewindow", "export", "-", "--format", "yaml")
    sys.stdout.flush()
    assert capfdbinary.readouterr().out == text.to_bytes(site(), text.YAML)


def test_some_rules_or_some_sections_are_exported_alone() -> None:
    assert json.loads(run("export", "--format", "json", "--rules", "login, search")) == site(["rules"])
    assert json.loads(run("export", "--format", "json", "--rules", "login")) == document(rules=[LOGIN])
    assert json.loads(run("export", "--format", "json", "--only", "overrides")) == document(overrides=[BLOCK])


def test_a_name_or_a_section_that_is_none_is_refused() -> None:
    assert wrong("export", "--rules", "logn") == "--rules: there is no rule 'logn': did you mean login?"
    assert wrong("export", "--only", "rule") == "--only: there is no section 'rule': write rules, overrides, switch."


@pytest.fixture
def without_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "ratewindow.operations.documents.yaml_text", raising=False)
    monkeypatch.delattr("ratewindow.operations.documents.yaml_text", raising=False)


@pytest.mark.usefixtures("without_yaml")
def test_without_pyyaml_json_is_the_default(tmp_path: Path) -> None:
    assert json.loads(run("export")) == site()
    for name in ("limits", "limits.txt", "LIMITS.JSON"):
        run("export", str(tmp_path / name))
        assert json.loads((tmp_path / name).read_text()) == site()


@pytest.mark.usefixtures("without_yaml")
@pytest.mark.parametrize(
    "arguments", [["--format", "yaml"], ["limits.yaml"], ["limits.YML"], ["limits.json", "--format", "yaml"]]
)
def test_without_pyyaml_yaml_that_is_asked_for_is_refused_with_the_command_and_json(arguments: list[str], tmp_path: Path) -> None:
    paths = [str(tmp_path / each) if each.startswith("limits") else each for each in arguments]
    message = wrong("export", *paths)
    assert "pip install 'ratewindow[yaml]'" in message and "--format json" in message
    assert not list(tmp_path.iterdir())


def test_secrets_are_hashes() -> None:
    Override.objects.block("session:abcdefgh")
    assert "abcdefgh" not in run("export")


def test_a_folder_that_is_none_is_a_message() -> None:
    assert "No such file" in wrong("export", "/nowhere/site.yaml")
    assert RateRule.objects.count() == 2
