"""``manage.py ratewindow`` and its subcommands."""

import pytest
from django.core.management import CommandError, call_command, load_command_class

from ratewindow.management.commands.ratewindow import subcommands


def test_the_help_lists_every_subcommand_with_one_sentence() -> None:
    parser = load_command_class("ratewindow", "ratewindow").create_parser("manage.py", "ratewindow")
    text = " ".join(parser.format_help().split())
    for module in subcommands():
        assert f"{module.NAME} " in text and module.HELP.partition(". ")[0].rstrip(".") in text


def test_an_unknown_subcommand_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(CommandError, match=r"invalid choice: 'chek' .*check"):
        call_command("ratewindow", "chek")


def test_another_name_of_a_subcommand_takes_the_same_arguments() -> None:
    parser = load_command_class("ratewindow", "ratewindow").create_parser("manage.py", "ratewindow")
    both = [vars(parser.parse_args([name, "user:1", "--rule", "login"])) for name in ("release", "reset")]
    assert [each.pop("subcommand") for each in both] == ["release", "reset"]
    assert both[0] == both[1]
