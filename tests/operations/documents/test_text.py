"""Documents as JSON and YAML: deterministic bytes, and what is read is what was written."""

import json
import sys
from typing import Any

import pytest
import yaml

from ratewindow.operations.documents import text
from ratewindow.operations.documents.parsing import DocumentError
from tests.support.documents import BLOCK, EXEMPTION, LOGIN, OFF, SEARCH, document
from tests.support.worst_strings import WORST

LONG = ["x" * 10_000, "é " * 5000, "\u200f" * 1000, "😀" * 2500, "line\n" * 2000]
SHAPES = [
    "a\nb\n",
    "a\n\n",
    " a\nb",
    "a \nb",
    "a\n  b\nc",
    "\n",
    "# x\ny",
    "a: b\n- c",
    "---\nx",
    "...\n",
    "a\tb\nc",
    "%YAML 1.1",
]
LOOKS_LIKE_ELSE = [
    "off",
    "on",
    "yes",
    "No",
    "true",
    "null",
    "~",
    "1m",
    "1:30",
    "2026-01-31",
    "0x10",
    "012",
    "1e3",
    "1_000",
    "1.5",
    "=",
    "<<",
]
STRINGS = [
    each for each in [*WORST, *LONG, *SHAPES, *LOOKS_LIKE_ELSE] if each.isascii() or each.encode(errors="ignore").decode() == each
]


EVERYWHERE = document(
    rules=[{"name": f"r{index:04}", "description": string, "limits": []} for index, string in enumerate(STRINGS)],
    overrides=[{"action": "block", "identity": f"user:{index}", "reason": string} for index, string in enumerate(WORST[::20])],
    switch={"off": True, "reason": LONG[-1]},
)


def assert_same(found: Any) -> None:
    for ours, theirs in zip(EVERYWHERE["rules"], found["rules"], strict=True):
        assert ours == theirs
    assert found == EVERYWHERE


@pytest.mark.parametrize("syntax", text.SYNTAXES)
def test_the_worst_strings_are_read_as_they_were_written(syntax: str) -> None:
    assert len(STRINGS) > 500
    written = text.to_bytes(EVERYWHERE, syntax)
    assert_same(text.from_bytes(written))
    assert written.endswith(b"\n") and b"\r" not in written


def test_other_readers_of_yaml_and_json_read_the_same() -> None:
    assert_same(yaml.safe_load(text.to_bytes(EVERYWHERE, text.YAML)))
    assert_same(json.loads(text.to_bytes(EVERYWHERE, text.JSON)))


@pytest.mark.parametrize("syntax", text.SYNTAXES)
def test_the_same_site_has_the_same_bytes_in_whatever_order_it_is_given(syntax: str) -> None:
    one = document(rules=[LOGIN, SEARCH], overrides=[BLOCK, EXEMPTION], switch=OFF)
    other = {"switch": OFF, "overrides": [EXEMPTION, BLOCK], "rules": [SEARCH, LOGIN], "ratewindow": 1}
    assert text.to_bytes(one, syntax) == text.to_bytes(other, syntax)


def test_yaml_is_easy_to_read() -> None:
    assert text.to_bytes(document(rules=[{**SEARCH, "mode": "off", "description": "One\nTwo"}]), text.YAML).decode() == (
        "ratewindow: 1\nrules:\n  - name: search\n    mode: 'off'\n    applies_to: prefix\n    pattern: /search/\n    key: ip\n"
        "    limits:\n      - {limit: 30, period: 1m, algorithm: token_bucket, burst: 60}\n"
        "    description: |-\n      One\n      Two\n"
    )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "There is nothing in it"),
        ("a: 1\na: 2", "line 2, column 1: this is not YAML that can be read: 'a' occurs twice in one place: keep one of them."),
        ("a: &a [1]\nb: *a", "line 2, column 4: this is not YAML that can be read: *a is an alias: write its value in full."),
        ("a: !!python/object:os.system x", "is a tag: write its value alone"),
        ("a: !!timestamp x", "is a tag: write its value alone"),
        ("[" * 1000, "there are too many lists in lists"),
        ("a: 1\n---\nb: 2", "line 2, column 1: "),
        ("a: [", "line 1, column 5: "),
        ("\x00: 1", "line 1: U+0000 cannot stand in YAML"),
        ('{"a": 1, "a": 2}', "'a' occurs twice in one place: keep one of them."),
        ('{"a": NaN}', "NaN is no number of JSON"),
        ('{"a": ' + "[" * 100_000, "There are too many lists in lists."),
        ('{"a": ' + "1" * 5000 + "}", "11111111111111111111... is a number of 5000 digits: write a smaller one."),
        ('{"a": -' + "9" * 5000 + "}", "-9999999999999999999... is a number of 5000 digits: write a smaller one."),
        ('{"rules": [{"name": "\\ud800"}]}', "'\\ud800' has half a character, which cannot be stored: remove it."),
        ('{"a": {"\\udcff": 1}}', "'\\udcff' has half a character, which cannot be stored: remove it."),
        ('rules: [{name: "\\ud800"}]', "'\\ud800' has half a character, which cannot be stored: remove it."),
        ('a: {"\\udfff": 1}', "'\\udfff' has half a character, which cannot be stored: remove it."),
        ('{"a"}', "line 1, column 5: this is not JSON"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(written: str, message: str) -> None:
    with pytest.raises(DocumentError) as raised:
        text.from_bytes(written.encode())
    assert message in str(raised.value)


def test_a_file_of_another_encoding_is_a_message_and_a_mark_at_its_beginning_is_none() -> None:
    with pytest.raises(DocumentError, match="Byte 1 is not UTF-8"):
        text.from_bytes("a: 1".encode("utf-16"))
    assert text.from_bytes(b"\xef\xbb\xbfa: 1") == {"a": 1}


def test_without_pyyaml_there_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    monkeypatch.delitem(sys.modules, "ratewindow.operations.documents.yaml_text", raising=False)
    monkeypatch.delattr("ratewindow.operations.documents.yaml_text", raising=False)
    assert text.installed() == (text.JSON,)
    with pytest.raises(text.NoYaml, match="pip install"):
        text.from_bytes(b"a: 1")
    assert text.from_bytes(b'{"a": 1}') == {"a": 1}
