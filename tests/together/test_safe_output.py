"""What others wrote cannot control the terminal of whoever runs a command."""

import json

import pytest

from ratewindow.contrib.history import files
from ratewindow.models import Override, RateRule, origin
from tests.support.commands import run, wrong

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\r\b\u202eesrever\u2066\ufeff\u200f\U000e0001\U000e0041\U0001d173"
HARMLESS = "naïve 理由 \u200c 😀\u00a0ok"


@pytest.fixture
def _evil() -> None:
    rule, _ = RateRule.objects.define("login", "5/m", path="/login/", description=EVIL)
    with origin.edits("code", reason=f"{EVIL} {HARMLESS}"):
        RateRule.objects.create(name="search")
    RateRule.objects.filter(pk=rule.pk).update(description=EVIL, message=EVIL, pattern=f"/login/{EVIL}")
    override = Override.objects.block("user:42", reason=f"{EVIL} {HARMLESS}", source=EVIL[:32])
    Override.objects.filter(pk=override.pk).update(identity=f"header:x-client:{EVIL}")
    Override.objects.create(action="block", identity="user:7", reason=f"{EVIL}\n999  forged")


@pytest.mark.usefixtures("_evil")
@pytest.mark.parametrize(
    "arguments",
    [
        ("history",),
        ("rules",),
        ("show", "user:7"),
        ("explain", "GET", "/login/", "--ip", "203.0.113.9"),
        ("subject", "user:7"),
        ("export",),
        ("export", "--format", "json"),
        ("block", f"header:x-client:{EVIL}", "--for", "1h"),
        ("suggest",),
    ],
    ids=" ".join,
)
def test_no_command_prints_what_controls_a_terminal(arguments: tuple[str, ...]) -> None:
    printed = run(*arguments)
    assert not set(printed) & set(EVIL) - set("esrever]0;owned[2J31m")
    if arguments == ("export", "--format", "json"):
        assert json.loads(printed)


@pytest.mark.usefixtures("_evil")
def test_it_is_escaped_and_what_is_harmless_stays() -> None:
    printed = run("history")
    assert "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u007f" in printed
    assert "\\u202eesrever\\u2066" in printed and HARMLESS.replace("\u00a0", " ") in printed
    assert not any(line.startswith("999") for line in printed.splitlines())


@pytest.mark.usefixtures("_evil")
@pytest.mark.parametrize("syntax", ["json", "yaml"])
def test_what_is_escaped_in_a_file_is_read_as_it_was(syntax: str) -> None:
    (rule, *_) = files.read(run("export", "--format", syntax).encode())
    assert rule["description"] == EVIL


def test_an_error_is_escaped_too() -> None:
    told = wrong("mode", f"login{EVIL}", "enforce")
    assert "\x1b" not in told and "\u202e" not in told
