"""The pages of the reference name what the code has, with the same defaults and options."""

import ast
import re
from pathlib import Path

import pytest
from django.core.management.base import CommandParser
from django.dispatch import Signal

from ratewindow import conf, signals
from ratewindow.management.commands.ratewindow import subcommands
from ratewindow.models import RateRule

DOCS = Path(__file__).resolve().parents[2] / "docs"
COMMANDS = {command.NAME: command for command in subcommands()}


def rows(name: str) -> list[list[str]]:
    """The cells of each row of the tables of a page; an escaped bar divides none."""
    lines = re.findall(r"^\| (.*) \|$", (DOCS / name).read_text(), flags=re.MULTILINE)
    return [re.split(r" (?<!\\)\| ", line) for line in lines]


def in_code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_each_setting_has_the_default_that_is_told() -> None:
    told = {
        key: default
        for keys, defaults, _ in rows("developers/settings.md")
        for key, default in zip(in_code(keys), in_code(defaults), strict=True)
    }
    assert list(told) != [] and told.keys() == conf._READERS.keys()
    assert told.pop("PEPPER") == "SECRET_KEY"  # what conf.peppers falls back to
    for key, default in told.items():
        assert conf.read({key: ast.literal_eval(default)}) == (conf.Conf(), []), key


def usages() -> list[str]:
    return [usage for first, *_ in rows("operators/commands.md") for usage in in_code(first)]


def test_each_command_is_told() -> None:
    assert {usage.split()[0] for usage in usages()} == COMMANDS.keys()


@pytest.mark.parametrize("usage", usages())
def test_a_command_has_the_options_that_are_told(usage: str) -> None:
    parser = CommandParser()
    for name, options in COMMANDS[usage.split()[0]].arguments:
        parser.add_argument(name, **options)
    assert {*re.findall(r"--[a-z-]+", usage)} <= parser._option_string_actions.keys()


def test_every_signal_is_told() -> None:
    told = {name for first, *_ in rows("developers/python.md") for name in in_code(first)}
    assert {name for name, value in vars(signals).items() if isinstance(value, Signal)} <= told


def test_every_field_of_a_rule_is_explained() -> None:
    """By the word that its form has for it, or its own name."""
    explained = " ".join(first for first, *_ in rows("staff/rules.md") if "`" not in first).lower()
    fields = [
        field
        for field in RateRule._meta.get_fields()
        if field.concrete and field.editable and field.name not in ("id", "description", "pattern")
    ]
    assert not [field.name for field in fields if str(field.verbose_name).lower() not in explained]
