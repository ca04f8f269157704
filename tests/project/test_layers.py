"""`make lint` fails when an import points upward or runs in a circle, tried on a copy with the contracts as they are."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("importlinter", reason="no import-linter here: the contracts were not tried")
    folder = tmp_path_factory.mktemp("layers")
    shutil.copytree(CHECKOUT / "ratewindow", folder / "ratewindow", ignore=shutil.ignore_patterns("*.pyc", "static", "locale"))
    shutil.copy(CHECKOUT / "pyproject.toml", folder)
    return folder


def lint(copy: Path) -> "subprocess.CompletedProcess[str]":
    program = "import sys; from importlinter.cli import lint_imports_command; sys.path.insert(0, ''); lint_imports_command()"
    return subprocess.run([sys.executable, "-c", program], cwd=copy, capture_output=True, text=True)


def test_as_it_is_every_contract_is_kept(copy: Path) -> None:
    done = lint(copy)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("path", "line", "contract"),
    [
        ("limiter/rates.py", "from ratewindow import conf", "Imports point downward"),
        ("store/stores.py", "import ratewindow.admin.rules", "Imports point downward"),
        ("rules/rule.py", "import ratewindow.request.guard", "Imports point downward"),
        ("newcomer.py", "", "Imports point downward"),
        ("limiter/durations.py", "import ratewindow.limiter.rates", "No imports run in a circle, in any folder"),
        ("limiter/redis/commands.py", "import ratewindow.limiter.redis.store", "No imports run in a circle, in any folder"),
        ("limiter/types.py", "import django", "The limiter knows neither Django nor the rest of us"),
        ("request/guard.py", "import celery", "Only the tasks know Celery"),
        ("api.py", "import rest_framework.throttling", "Only its door knows Django REST framework"),
    ],
)
def test_a_line_that_breaks_a_contract_fails(copy: Path, path: str, line: str, contract: str) -> None:
    changed = copy / "ratewindow" / path
    before = changed.read_text() if changed.exists() else None
    try:
        changed.write_text(f"{before or ''}\n{line}\n")
        done = lint(copy)
    finally:
        changed.unlink() if before is None else changed.write_text(before)
    assert done.returncode == 1
    assert f"{contract} BROKEN" in " ".join(done.stdout.split())
