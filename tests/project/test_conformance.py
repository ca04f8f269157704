"""The suite that rivals can run: forty cases, a written table that is about them, and what it says of us."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import adapters, tables
from conformance.adapter import CAPABILITIES
from conformance.cases import CASES
from conformance.running import KINDS
from conformance.verdict import Verdict

CHECKOUT = Path(__file__).resolve().parents[2]
WRITTEN = CHECKOUT.joinpath("docs/evidence/conformance.md").read_text("utf-8")
ROW = re.compile(r"^\| `([\w.-]+)` +\|(.*)\|$", re.MULTILINE)


def written() -> dict[str, list[str]]:
    """The verdicts of the written table, by the case's id."""
    return {case: [cell.strip() for cell in cells.split("|")] for case, cells in ROW.findall(WRITTEN)}


def test_there_are_forty_cases_each_with_its_own_id() -> None:
    assert len({case.id for case in CASES}) == len(CASES) == 40


def test_what_cases_need_and_adapters_lack_is_known() -> None:
    lacking = {name for each in adapters.NAMES for name in adapters.find(each).without}
    assert lacking | {need for case in CASES for need in case.needs} <= set(CAPABILITIES)
    assert {case.kind for case in CASES} == set(KINDS)


def test_the_written_table_has_each_case_and_a_verdict_of_each_limiter() -> None:
    found = written()
    assert list(found) == [case.id for case in CASES]
    assert {cell for cells in found.values() for cell in cells} == {"pass", "fail", "n/a"}
    assert {len(cells) for cells in found.values()} == {len(adapters.NAMES)}


def test_each_miss_that_is_written_says_what_was_observed() -> None:
    observed = WRITTEN.partition("## What was observed")[2].partition("## What the cases say")[0]
    for case, cells in written().items():
        assert len(re.findall(rf"^\* `{case}`: \S", observed, re.MULTILINE)) == cells.count("fail"), case


def test_the_short_table_counts_what_the_cases_say() -> None:
    columns = [
        tables.Column("", "", "", {case: Verdict(cells[at], "") for case, cells in written().items()})
        for at in range(len(adapters.NAMES))
    ]
    short = CHECKOUT.joinpath("conformance/table.md").read_text("utf-8")
    for group, ids in tables.groups().items():
        row = next(line for line in short.splitlines() if line.startswith(f"| {group} "))
        assert [cell.strip() for cell in row.split("|")[2:-1]] == [column.cell(ids) for column in columns]


def test_what_does_not_apply_is_no_pass() -> None:
    column = tables.Column(
        "", "", "", {"a": Verdict("pass", ""), "b": Verdict("n/a", "no such thing"), "c": Verdict("fail", "6 of 5")}
    )
    assert (column.cell("abc"), column.cell("b")) == ("1/2", "n/a")


@pytest.mark.slow
def test_ratewindow_does_what_the_written_table_says() -> None:
    """A few cases of each kind of site, in this environment rather than in one that is made for them."""
    asked = [
        "never-above.row",
        "never-above.at-once",
        "answers.fields",
        "addresses.mapped-ipv4",
        "store.down-closed",
        "odd-input.rates",
    ]
    command = [sys.executable, "-m", "conformance", "--limiter", "ratewindow", "--here", "--cases"]
    done = subprocess.run([*command, *(f"--case={case}" for case in asked)], cwd=CHECKOUT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = {case: cells.strip() for case, cells in ROW.findall(done.stdout)}
    assert {case: told[case] for case in asked} == {case: written()[case][0] for case in asked}
