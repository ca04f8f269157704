"""Regular expressions of rules: RE2's only, and a word where it is not installed."""

import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits

import pytest

from ratewindow.rules.regex import (
    LONGEST_BYTES,
    MOST_FREE_STEPS,
    MOST_SHORT_STEPS,
    MOST_STEPS_IN_STEP,
    RegexSet,
    beyond_bounds,
    check_bounds,
    check_regex,
    is_in_step,
    program_of,
    steps_of,
)

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
    assert RegexSet(["^/(a+)+$"]).found_in("/" + "a" * 1_000 + "b") == []
    assert RegexSet(["^/(a+)+$"]).found_in("/" + "a" * 1_000) == [0]


def test_without_google_re2_the_line_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ValueError, match=r"pip install 'ratewindow\[regex\]'"):
        check_regex("^/api/")


def test_a_dot_is_any_character_of_a_path_also_a_line_feed() -> None:
    assert RegexSet(["^/export/.*/all$", "^/a.b$"]).found_in("/export/\n/all") == [0]
    assert RegexSet(["^/export/.*/all$", "^/a.b$"]).found_in("/a\nb") == [1]


FREE = [f"[a{chr(0x100 + number)}].{{{17 - number}}}[N{number}]" for number in range(4)]
"""Patterns that fill the room for those of which a path may be in the middle in many ways."""

USUAL = [rf"^/api/v\d+/users-{number}/\d+/$" for number in range(1100)]


@pytest.mark.parametrize("pattern", [r"^/(\pL{1,200}/)+y0$", "a.{900}N", r"(\pL{1,200}/){1,5}", ".{1000}"])
def test_a_pattern_that_is_too_large_is_named_with_what_to_write(pattern: str) -> None:
    with pytest.raises(
        ValueError,
        match=r"is too large: it has .* steps.* 2,500.*; count less in braces|too large - .* and count less in braces",
    ):
        check_regex(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"^/api/v\d+/users/\d+/$",
        r"^/blog/(?P<slug>[\w-]+)/comments/(?P<id>\d+)/?$",
        r"^/[0-9]{4}/[0-9]{2}/[-a-zA-Z0-9_]{1,255}/",
        r"^/u/[\w.@+-]+/$",
        r"^/(?:en|de)/login/$",
        r"^/v(1|2|10)/(?P<kind>users|groups)/\d+$",
        r"(?i)^/wp-admin",
        r"^/robots\.txt$",
        r"^/static/.*$",
        r"^/\pL+/\pL+/$",
        "^/(" + "|".join(map(str, range(300))) + ")/",
    ],
)
def test_a_pattern_whose_place_the_path_alone_tells_is_in_step(pattern: str) -> None:
    assert is_in_step(pattern)
    check_bounds(pattern, [*FREE, *USUAL[:900]])


@pytest.mark.parametrize(
    "pattern",
    [
        r"\.php$",  # may begin anywhere
        r"^/files/.*\.pdf$",
        r"^/.*x.{99}$",
        r"^/(\w+/)+x$",
        r"^/\w+\d+/",
        r"^/[^a]*a[^a]*a/",
        r"^/[.-_]+/x",  # the range contains the slash
        r"^/[\x2e-\x30]+/x",
        r"^/[a-m]+/|b.{99}",
        r"^/\Q[\E|b.{99}]",
        r"^/a(?i)b",
        "^/a++/",
        "(?s)^/a\n.{99}$",
        "^/a{,5}.{99}$",
        "^/(a|aa)(a|aaa)(a|aaaaa)[a-f]{900}/",  # a path is at eight places of the count
        "^/(en|de)-[a-z]{900}/",
    ],
)
def test_any_other_pattern_is_free(pattern: str) -> None:
    assert not is_in_step(pattern)


def test_free_patterns_that_are_taken_one_by_one_are_together_no_more_work_than_one_path_may_be() -> None:
    """Seventeen of these once made a path of 3.9 kB cost 0.85 s of processor time."""
    taken: list[str] = []
    for number in range(17):
        pattern = f"[\\x{0x61 + number:x}-\\x{0x6A + number:x}].{{25}}{number}$"
        with suppress(ValueError):
            check_bounds(pattern, taken)
            taken.append(pattern)
    with pytest.raises(ValueError, match=r"other 2 expressions of its kind.* begin with \^ and end each part"):
        check_bounds("[x-z].{25}0$", taken)
    assert sum(map(steps_of, taken)) <= MOST_FREE_STEPS
    check_bounds("/export/?$", taken)


@pytest.mark.parametrize("pattern", ["[a-g].{250}x", "^/.*[a-g].{250}x", r"(?i)(\w+/){99}x", "[^/]{80}$"])
def test_one_free_pattern_alone_may_be_too_much(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"together with the other 0 expressions of its kind.*, and all together may have 500"):
        check_bounds(pattern)


def test_plain_text_after_the_beginning_counts_as_steps_too() -> None:
    """RE2 leaves it out of the program of one pattern, and has it in the program of all."""
    assert steps_of("^/" + "a" * 200) > 200
    assert steps_of("(?i)^/" + "a" * 200) > 200


def test_of_patterns_that_are_too_many_the_largest_of_their_kind_have_no_room() -> None:
    assert beyond_bounds(USUAL) == beyond_bounds(FREE) == beyond_bounds([*USUAL, *FREE]) == set()
    large = [f"^/{'a' * number}/$" for number in range(150, 250)]
    beyond = beyond_bounds([*USUAL, *FREE, *large])
    assert beyond
    assert beyond < set(large)
    assert min(map(steps_of, beyond)) >= max(steps_of(pattern) for pattern in large if pattern not in beyond)
    free = [*FREE, ".{40}"]
    assert beyond_bounds([*USUAL, *free]) == {".{40}"}


def test_all_that_has_room_finds_what_it_should() -> None:
    """RE2 has room for twenty states of its program at least, or finds nothing and does not say so."""
    patterns = [*USUAL, *FREE, "^/found$", "/(?:found)$"]
    assert sum(map(steps_of, USUAL)) > 0.9 * MOST_STEPS_IN_STEP
    assert sum(map(steps_of, FREE)) > 0.9 * MOST_FREE_STEPS
    regexes = RegexSet(patterns)
    assert sorted(regexes.found_in("/found")) == [1104, 1105]
    for number in range(20):
        regexes.found_in("/" + f"aN{number}"[number % 2 :] * 500)
        assert number in regexes.found_in(f"/api/v{number}/users-{number}/{number}/")
    assert sorted(regexes.found_in("/found")) == [1104, 1105]


@pytest.mark.parametrize(
    ("pattern", "program"),
    [
        (r"^/api/v\d+/users/\d+/$", "short"),
        (r"^/blog/(?P<slug>[\w-]+)/comments/(?P<id>\d+)/?$", "short"),
        ("^/[^/]*/[^/]*/aa", "short"),
        ("^/[a-z]+.*$", "short"),
        ("^/[a-f]{1000}/", "long"),
        ("^/[^/]*/[a-f]{100,}/", "long"),
        ("^/" + "[a-f_]{9}" * 10, "long"),
        ("^/" + "a" * 100, "long"),
        (r"\.php$", "free"),
    ],
)
def test_a_long_pattern_is_matched_apart_from_the_thousands_of_short_ones(pattern: str, program: str) -> None:
    """With each byte it leads to somewhere new, and 1,600 others in the same program once made a path cost 80 ms."""
    assert program_of(pattern) == program
    assert program != "short" or steps_of(pattern) <= MOST_SHORT_STEPS


def test_patterns_of_all_programs_are_found_in_one_path() -> None:
    patterns = ["^/[a-f]{1000}/", "^/[a-f]+/x$", "/x$", "^/[a-f]{1000}/$", "^/b"]
    assert sorted(RegexSet(patterns).found_in("/" + "a" * 1000 + "/x")) == [0, 1, 2]


@pytest.mark.parametrize("letter", ["a", "é", "\udcff"], ids=["one byte", "two bytes", "no UTF-8"])
def test_a_path_that_is_too_long_to_be_matched_meets_all_patterns_whose_plain_beginning_it_has(letter: str) -> None:
    """So it costs nothing, and avoids no rule by its length."""
    regexes = RegexSet([r"^/api/\d+$", r"^/export/.*\.pdf$", r"\.php$", r"(?i)^/API/\d+$", r"^/x|y$", r"^/\Q[\E|b]"])
    assert regexes.found_in("/api/" + letter * (LONGEST_BYTES // 4)) == []
    assert regexes.found_in("/api/" + letter * LONGEST_BYTES) == [0, 2, 3, 4, 5]


def test_a_pattern_that_has_no_room_beside_the_others_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"is too large together with the other 1,100 expressions of its kind: it has 40. .* 30,000"
    ):
        check_bounds("^/" + "a" * 400, USUAL)
    with pytest.raises(ValueError, match=r"is too large together with the other 4 expressions of its kind.* 500"):
        check_bounds("a.{20}N", FREE)


def test_others_that_are_wrong_are_said_at_their_own_rows() -> None:
    check_bounds("^/api/", ["(", "a.{900}N"])
    check_bounds("/api/", ["(", "a.{900}N"])


KINDS = {"a-z": ascii_lowercase, "A-Z": ascii_uppercase, "0-9": digits, **{each: each for each in "_.@+~"}}


@pytest.mark.pace
def test_the_worst_paths_that_a_search_found_take_milliseconds() -> None:
    """The slowest path of 117 random sets took the processor of a busy machine 17 ms."""
    chance = random.Random(1)
    free = [f"[a-{chr(99 + number)}][a-z]{{{40 + number % 3}}}{chr(65 + number)}" for number in range(10)]
    kinds = ["".join(chance.sample([*KINDS], chance.randint(6, 8))) for _ in range(1500)]
    in_step = [f"^/[{each}]+/x{number}" for number, each in enumerate(kinds)]
    assert not beyond_bounds([*free, *in_step])
    regexes = RegexSet([*free, *in_step])
    took_s = []
    for _ in range(10):
        letters = "".join(KINDS[each] for each in chance.sample([*KINDS], 4))
        paths = ["/" + "".join(chance.choices("abcdefgh", k=500)) + "".join(chance.choices(letters, k=500)) for _ in range(3)]
        took_s.append(min(_took_s(regexes, path) for path in paths))  # one may be held up by other work
    assert max(took_s) < 0.1


def _took_s(regexes: RegexSet, path: str) -> float:
    began_s = time.thread_time()
    regexes.found_in(path)
    return time.thread_time() - began_s


def test_a_process_grows_by_few_megabytes_whatever_the_patterns() -> None:
    program = r"""
from tests.rules.test_regex import FREE, USUAL, RegexSet, check_regex, most_kb
began_kb = most_kb()
for number in range(50):
    try:
        check_regex(r"^/(\pL{1,%d}/)+y0$" % (150 + number))
    except ValueError:
        pass
chance = __import__("random").Random(1)
long = ["^/[a-zA-Z]{900}/", "^/[a-zA-Z0-9]{900}$"]
regexes = RegexSet([*FREE, *USUAL, *long])
for _ in range(30):
    regexes.found_in("/" + "".join(chance.choices("aN/0123456789", k=1000)))
print(most_kb() - began_kb)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 40_000


def most_kb() -> int:
    """What this process has had at most."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])
