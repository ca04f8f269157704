"""YAML with nothing guessed."""

import time

from ratewindow.operations.documents import yaml_text


def test_only_numbers_truth_and_nothing_are_more_than_text() -> None:
    written = (
        "a: off\nb: 1m\nc: 1:30\nd: 2026-01-31\ne: yes\nf: 012\ng: 1.5\nh: 12\ni: true\nj: null\nk:\nl: '12'\nm: -3\nn: 0x10"
    )
    assert yaml_text.read(written) == {
        "a": "off",
        "b": "1m",
        "c": "1:30",
        "d": "2026-01-31",
        "e": "yes",
        "f": "012",
        "g": "1.5",
        "h": 12,
        "i": True,
        "j": None,
        "k": None,
        "l": "12",
        "m": -3,
        "n": "0x10",
    }


def test_a_key_may_be_off_too() -> None:
    assert yaml_text.read("switch: {off: true}") == {"switch": {"off": True}}


def test_a_merge_is_a_key_like_any_other() -> None:
    assert yaml_text.read("<<: {a: 1}") == {"<<": {"a": 1}}


def test_a_long_file_is_read_in_a_time_that_grows_with_its_length() -> None:
    def taken(lines: int) -> float:
        begun = time.process_time()
        yaml_text.read("a:\n" + "  - {b: 1, c: text}\n" * lines)
        return time.process_time() - begun

    taken(10)
    assert taken(2000) < 60 * max(taken(200), 0.005)
