"""A site's own code in strict mode: what is promised has types, and they are the promised ones."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
CHECKOUT = FOLDER.parent.parent
SITE = FOLDER / "site.py"

pytestmark = pytest.mark.slow


def checked(path: Path) -> "subprocess.CompletedProcess[str]":
    pytest.importorskip("mypy", reason="no mypy here: types were not tried")
    command = [sys.executable, "-m", "mypy", "--config-file", str(FOLDER / "mypy.ini"), str(path)]
    own = {name: value for name, value in os.environ.items() if not name.startswith(("RATEWINDOW_", "TESTPROJECT_"))}
    environment = {**own, "PYTHONPATH": str(CHECKOUT), "MYPYPATH": str(CHECKOUT)}
    return subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True)


def test_typical_use_of_all_that_is_public_is_right_for_a_site_that_checks_strictly() -> None:
    done = checked(SITE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_does_not_exist_is_told(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import ratewindow\nfrom ratewindow import hitt\n\nratewindow.peak('mail', 'user:42')\n")
    told = checked(tmp_path / "wrong.py").stdout
    assert 'has no attribute "hitt"' in told
    assert 'has no attribute "peak"' in told


@pytest.mark.parametrize("module", ["ratewindow", "ratewindow.limiter", "ratewindow.rest_framework"])
def test_every_public_name_is_used_there(module: str) -> None:
    words = set(re.findall(r"\w+", SITE.read_text()))
    assert set(importlib.import_module(module).__all__) <= words
