"""What a release takes for granted: one place for version and addresses, actions that nobody can exchange, else a refusal."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted(CHECKOUT.glob(".github/workflows/*.yml"))
MADE = {"__pycache__", "_build"}
PLACES = ("*", ".ci/*", ".github/**/*", "docs/**/*", "examples/**/*", "ratewindow/**/*", "testproject/**/*")


def files_with(text: str) -> set[str]:
    """Of all but the tests."""
    files = {path for place in PLACES for path in CHECKOUT.glob(place) if path.is_file() and not MADE & {*path.parts}}
    return {str(path.relative_to(CHECKOUT)) for path in files if text.encode() in path.read_bytes()}


def steps(workflow: Path) -> list[dict[str, Any]]:
    return [step for job in yaml.safe_load(workflow.read_text())["jobs"].values() for step in job["steps"]]


def test_the_addresses_stand_in_one_place() -> None:
    assert files_with("ratewindow.example") <= {"pyproject.toml", ".github/CODEOWNERS"}
    for name in ("Homepage", "Documentation", "Changelog", "Issues", "Source", "Security"):
        assert PROJECT["urls"][name].startswith("https://")


def test_the_version_stands_in_one_place_and_where_people_read_of_it() -> None:
    found = files_with(PROJECT["version"])
    assert "pyproject.toml" in found
    assert {name for name in found if not name.endswith(".md")} == {"pyproject.toml"}
    assert f"Version {PROJECT['version']}," in (CHECKOUT / "README.md").read_text()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_an_action_is_named_by_its_commit_and_its_version(workflow: Path) -> None:
    used = re.findall(r"uses: (.*)", workflow.read_text())
    assert used
    assert [line for line in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)] == []


def test_an_action_has_the_same_commit_everywhere() -> None:
    used = {line for workflow in WORKFLOWS for line in re.findall(r"uses: (.*)", workflow.read_text())}
    assert len({line.partition("@")[0] for line in used}) == len(used)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_a_job_may_do_what_it_names_and_ends(workflow: Path) -> None:
    whole = yaml.safe_load(workflow.read_text())
    assert whole["permissions"] == {}
    for job in whole["jobs"].values():
        assert job["permissions"]
        assert job["timeout-minutes"]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_what_others_can_write_is_no_part_of_a_script(workflow: Path) -> None:
    assert [step["run"] for step in steps(workflow) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_what_a_workflow_runs_is_there(workflow: Path) -> None:
    scripts = "\n".join(step.get("run", "") for step in steps(workflow))
    targets = re.findall(r"\bmake ([\w-]+)", scripts)
    makefile = (CHECKOUT / "Makefile").read_text()
    assert [target for target in targets if f"\n{target}:" not in makefile] == []
    assert [
        path for path in re.findall(r"(?<![\w./])(\.ci/[\w.]+|tests/[\w/.]+)", scripts) if not (CHECKOUT / path).exists()
    ] == []


def refused(checkout: Path, tag: str) -> str:
    done = subprocess.run([sys.executable, checkout / ".ci" / "releasable.py", tag], capture_output=True, text=True)
    assert done.returncode == bool(done.stderr)
    return done.stderr


@pytest.fixture
def ready(tmp_path: Path) -> Path:
    """A checkout of which nothing keeps back v2.0.1."""
    for folder in (".ci", ".github"):
        (tmp_path / folder).mkdir()
    (tmp_path / ".ci" / "releasable.py").write_text((CHECKOUT / ".ci" / "releasable.py").read_text())
    (tmp_path / ".github" / "CODEOWNERS").write_text("* @somebody\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## [2.0.1] - 2030-01-01\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "2.0.1"\n[project.urls]\nSource = "https://forge.test/a/b"\n')
    return tmp_path


def test_a_checkout_that_is_ready_is_released(ready: Path) -> None:
    assert refused(ready, "v2.0.1") == ""


@pytest.mark.parametrize(
    ("name", "text", "by", "said"),
    [
        ("pyproject.toml", "forge.test", "ratewindow.example", "Source is still https://ratewindow.example/a/b"),
        (".github/CODEOWNERS", "@somebody", "maintainers@ratewindow.example", "nobody is named yet"),
        ("pyproject.toml", "2.0.1", "2.0.2", "the tag v2.0.1 is not that of version 2.0.2"),
        ("CHANGELOG.md", "[2.0.1]", "[Unreleased]", "no section ## [2.0.1]"),
    ],
)
def test_what_is_not_ready_is_refused_with_what_to_do(ready: Path, name: str, text: str, by: str, said: str) -> None:
    (ready / name).write_text((ready / name).read_text().replace(text, by))
    assert said in refused(ready, "v2.0.1")


def test_this_checkout_is_refused_while_nobody_has_set_its_addresses() -> None:
    said = refused(CHECKOUT, f"v{PROJECT['version']}")
    assert ("[project.urls]" in said) == any(".example" in address for address in PROJECT["urls"].values())


def test_the_filter_that_the_documentation_gives_makes_such_warnings_errors() -> None:
    page = (CHECKOUT / "docs" / "releases.md").read_text()
    said, command = re.findall(r"```text\n(.*)\n```", page)
    option = re.search(r'-W "(.*?)"', command)
    assert option
    warn = f"import warnings; warnings.warn({said!r}, DeprecationWarning)"
    assert subprocess.run([sys.executable, "-W", option[1], "-c", warn], capture_output=True).returncode == 1
    assert subprocess.run([sys.executable, "-c", warn], capture_output=True).returncode == 0
