"""Every process collects the same tests by the same names, whatever its hashes and its clock: pytest-xdist needs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PROGRAM = """
import datetime, sys, pytest, time_machine
with time_machine.travel(datetime.datetime.fromtimestamp(int(sys.argv[1]), datetime.UTC)):
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", "-W", "ignore:Module already imported"]
    sys.exit(pytest.main([*options, *sys.argv[2:]]))
"""
MOMENTS_S = 1_800_000_000, 1_834_567_891

pytestmark = pytest.mark.slow


def names(*places: str, cwd: Path = CHECKOUT) -> list[list[str]]:
    """Of the tests in these places, as two processes collect them at the same time, with hashes and clocks of their own."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(moment_s), *places],
            cwd=cwd,
            env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": str(CHECKOUT)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed, moment_s in enumerate(MOMENTS_S)
    ]
    outputs = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outputs
    return [[line for line in output.splitlines() if "::" in line] for output in outputs]


def test_two_processes_name_all_tests_alike_and_in_one_order() -> None:
    first, second = names()
    assert len(first) > 1000
    assert [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]] == []
    assert len(first) == len(second)


@pytest.mark.parametrize("values", ["[time.time()]", "{'one', 'two', 'three'}"])
def test_a_name_that_changes_is_found(values: str, tmp_path: Path) -> None:
    test = f"import time, pytest\n@pytest.mark.parametrize('value', {values})\ndef test_it(value): pass\n"
    tmp_path.joinpath("test_changing.py").write_text(test)
    first, second = names(str(tmp_path), "--rootdir", str(tmp_path), "-c", "/dev/null", "-p", "no:django", cwd=tmp_path)
    assert len(first) == len(second) > 0
    assert first != second
