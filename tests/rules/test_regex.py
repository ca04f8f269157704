"""Regular expressions of rules: RE2's only, and a word where it is not installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from ratewindow.rules.regex import MOST_STEPS_TOGETHER, RegexSet, check_regex, steps_of, try_regex, without_room

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("pattern", ["^/api/", r"/\d+/$", "(a+)+$", "(?i)^/login", "é"])
def test_patterns_that_it_takes(pattern: str) -> None:
    check_regex(pattern)


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "((a{100}){100}){100}", "[z-a]", "*"])
def test_a_pattern_that_it_does_not_take_is_named(pattern: str) -> None:
    with pytest.raises(ValueError, match="is not a regular expression of RE2"):
        check_regex(pattern)


def test_the_pattern_that_hangs_other_engines_reads_a_long_text_once() -> None:
    """Python's own needs longer than the age of the universe here."""
    assert RegexSet(["^/(a+)+$"]).found_in("/" + "a" * 100_000 + "b") == []
    assert RegexSet(["^/(a+)+$"]).found_in("/" + "a" * 100_000) == [0]


def test_without_google_re2_the_line_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ValueError, match=r"pip install 'ratewindow\[regex\]'"):
        check_regex("^/api/")


def test_a_dot_is_any_character_of_a_path_also_a_line_feed() -> None:
    assert RegexSet(["^/export/.*/all$", "^/a.b$"]).found_in("/export/\n/all") == [0]
    assert RegexSet(["^/export/.*/all$", "^/a.b$"]).found_in("/a\nb") == [1]


FULL = [f"[a{chr(0x100 + number)}].{{{300 - number}}}[N{number}]" for number in range(14)]
"""Patterns that fill the room for all of them, each of which follows a path from every character anew."""


@pytest.mark.parametrize("pattern", [r"^/(\pL{1,200}/)+y0$", "a.{900}N", r"(\pL{1,200}/){1,5}", ".{1000}"])
def test_a_pattern_that_is_too_large_is_named_with_what_to_write(pattern: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"is too large: it has .* steps.* 2,500.*; count less in braces",
    ):
        check_regex(pattern)


@pytest.mark.parametrize(
    "pattern", [r"[\w-]{1,255}/x", ".{255}", r"^/\pL+/\pL+/$", "^/(" + "|".join(map(str, range(300))) + ")/"]
)
def test_patterns_that_are_large_for_good_reason_are_taken(pattern: str) -> None:
    try_regex(pattern)


def test_of_patterns_that_are_too_many_the_largest_have_no_room() -> None:
    usual = [f"^/{number:04}/[a-z]+/[0-9]+/?$" for number in range(1000)]
    assert without_room(usual) == without_room(FULL) == set()
    beyond = without_room([*usual, *FULL])
    assert beyond
    assert beyond < set(FULL)
    assert min(map(steps_of, beyond)) >= max(steps_of(pattern) for pattern in FULL if pattern not in beyond)


def test_all_that_has_room_finds_what_it_should() -> None:
    """RE2 has room for twenty states of its program at least, or finds nothing and does not say so."""
    patterns = [*FULL, "^/found$"]
    assert sum(map(steps_of, patterns)) > 0.9 * MOST_STEPS_TOGETHER
    regexes = RegexSet(patterns)
    assert regexes.found_in("/found") == [14]
    for number in range(20):
        regexes.found_in("/" + f"aN{number}"[number % 2 :] * 500)
    assert regexes.found_in("/found") == [14]


def test_a_pattern_that_takes_long_beside_the_others_is_named() -> None:
    with pytest.raises(ValueError, match=r"takes \d+ ms for one long path, and may take 10: .* write \.\* instead"):
        try_regex(FULL[0], FULL[1:12])
    try_regex("^/api/", [f"^/{number:04}/[a-z]+/[0-9]+/?$" for number in range(1000)])


def test_a_pattern_that_has_no_room_beside_the_others_is_named() -> None:
    with pytest.raises(ValueError, match=r"is too large together with the other 14 expressions: it has [\d,]+ steps, .* 30,000"):
        try_regex("a.{280}N", FULL)


def test_others_that_are_wrong_are_said_at_their_own_rows() -> None:
    try_regex("^/api/", ["(", "a.{900}N"])


def test_a_process_grows_by_few_megabytes_whatever_the_patterns() -> None:
    program = r"""
from tests.rules.test_regex import FULL, RegexSet, check_regex, most_kb
began_kb = most_kb()
for number in range(50):
    try:
        check_regex(r"^/(\pL{1,%d}/)+y0$" % (150 + number))
    except ValueError:
        pass
chance = __import__("random").Random(1)
regexes = RegexSet(FULL)
for _ in range(30):
    regexes.found_in("/" + "".join(chance.choices("aN/0123456789", k=4000)))
print(most_kb() - began_kb)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 40_000


def most_kb() -> int:
    """What this process has had at most."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
