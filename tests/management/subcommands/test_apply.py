"""`manage.py ratewindow apply`, and as programs that run at the same time."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ratewindow.operations.documents import text
from ratewindow.operations.documents.applying import apply
from ratewindow.operations.documents.site import Document, site
from tests.support.commands import run, wrong
from tests.support.documents import BLOCK, LOGIN, SEARCH, document

CHECKOUT = Path(__file__).resolve().parents[3]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "site.yaml", document(rules=[LOGIN]))


def written(file: Path, content: Document) -> Path:
    file.write_bytes(text.to_bytes(content, text.YAML))
    return file


def status(*arguments: str) -> int:
    try:
        call_command("ratewindow", *arguments)
    except CommandError as error:
        return error.returncode
    return 0


@pytest.mark.django_db
def test_the_site_becomes_what_the_file_says_and_other_sections_stay(file: Path) -> None:
    apply(document(rules=[{**LOGIN, "cost": 2}, SEARCH], overrides=[BLOCK]))
    assert run("apply", str(file)).splitlines() == [
        "~ rule login",
        "    cost: 2 -> 1",
        "- rule search",
        "    mode: shadow",
        "    applies_to: prefix",
        "    pattern: /search/",
        "    key: ip",
        "    limit 1m token_bucket, limit: 30",
        "    limit 1m token_bucket, burst: 60",
        f"The site is as {file} says: 0 added, 1 changed, 1 removed.",
    ]
    assert site(["rules", "overrides"]) == document(rules=[LOGIN], overrides=[BLOCK])
    assert run("apply", str(file)) == f"The site is as {file} says: nothing had to be changed."


@pytest.mark.django_db
def test_check_changes_nothing_and_says_by_its_status_whether_the_site_differs(file: Path, tmp_path: Path) -> None:
    assert status("apply", str(file), "--check") == 1 and site(["rules"])["rules"] == []
    assert "The site differs from" in wrong("apply", str(file), "--check")
    run("apply", str(file))
    assert status("apply", str(file), "--check") == 0
    assert status("apply", str(tmp_path / "none.yaml"), "--check") == 2
    (tmp_path / "bad.yaml").write_text("rules: [")
    assert status("apply", str(tmp_path / "bad.yaml"), "--check") == 2
    (tmp_path / "bad.yaml").write_text("rules: []")
    assert status("apply", str(tmp_path / "bad.yaml"), "--check") == 2


@pytest.mark.django_db
def test_a_rule_that_would_refuse_staff_needs_a_yes(file: Path) -> None:
    everything = {
        **SEARCH,
        "mode": "enforce",
        "applies_to": "all",
        "limits": [{"limit": 2, "period": "1h", "algorithm": "fixed_window"}],
    }
    del everything["pattern"]
    written(file, document(rules=[everything]))
    message = wrong("apply", str(file))
    assert "Rule search meets /admin/" in message and message.endswith("To make these changes all the same, add --yes.")
    assert site(["rules"])["rules"] == []
    run("apply", str(file), "--yes")
    assert site(["rules"])["rules"] == [everything]
    run("apply", str(written(file, document(rules=[{**everything, "description": "as before"}]))))


@pytest.mark.slow
def test_as_programs_the_statuses_are_the_same_and_two_at_once_do_not_mix(
    tmp_path: Path, program_environment: dict[str, str]
) -> None:
    environment = {**program_environment, "TESTPROJECT_DATABASE": str(tmp_path / "db.sqlite3")}

    def begin(*arguments: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=-1, stderr=-1, text=True)

    def end(program: "subprocess.Popen[str]") -> tuple[int, str]:
        out, error = program.communicate(timeout=120)
        return program.returncode, out + error

    assert end(begin("migrate", "-v0"))[0] == 0
    numbers = range(20)
    sites = [
        document(rules=[{**SEARCH, "name": f"{name}{number}"} for number in numbers], overrides=[{**BLOCK, "reason": name}])
        for name in ("a", "b")
    ]
    files = [written(tmp_path / f"{index}.yaml", content) for index, content in enumerate(sites)]
    assert end(begin("ratewindow", "apply", str(files[0]), "--check"))[0] == 1
    for program in [begin("ratewindow", "apply", str(file)) for file in files]:
        code, said = end(program)
        assert code == 0 or "Somebody has edited the site meanwhile" in said
    checks = [end(begin("ratewindow", "apply", str(file), "--check"))[0] for file in files]
    assert sorted(checks) == [0, 1], "the site is one of the two, with nothing of the other"
    code, said = end(begin("ratewindow", "export", "--only", "rules,overrides"))
    assert text.from_bytes(said.encode()) == sites[checks.index(0)]
