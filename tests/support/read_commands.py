"""Read the commands of a document: bash parses them, and so do the programs of this checkout; our subcommands are executed."""

import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from glob import glob
from importlib.util import find_spec

from django.core.management import call_command, get_commands, load_command_class

from tests.support.blocks import CHECKOUT

PARSED_ALONE = {"restore", "move"}  # their edit, and the other packages, are on the reader's site
OURS = {"ratewindow", "testproject", "tests", "benchmarks"}  # whose modules are run by ``python -m``


def check_commands(code: str) -> None:
    """Raises what is wrong with the lines behind prompts; with all lines, where there is no prompt and so no output."""
    lines = code.replace("\\\n", " ").splitlines()
    commands = [line[2:] for line in lines if line.startswith("$ ")] or lines
    parsed = subprocess.run(["bash", "-n"], input="\n".join(commands), capture_output=True, text=True, check=False)
    assert not parsed.returncode, parsed.stderr.strip()
    for words in (words for command in commands for words in _simple_commands(command)):
        _check_command(words)


def check_named(command: str) -> None:
    """Raises what is wrong with a command in a sentence, which may be a subcommand's name alone."""
    parse_manage_py(shlex.split(command), name_alone=True)


def _simple_commands(command: str) -> Iterator[list[str]]:
    """The words of each command of a line: ``a && b | c`` has three."""
    words = shlex.shlex(command, posix=True, punctuation_chars=True)
    words.whitespace_split = True
    found: list[str] = []
    for word in [*words, ";"]:
        if set(word) <= set("();<>|&"):
            yield found
            found = []
        else:
            found.append(word)


def _check_command(words: list[str]) -> None:
    match words:
        case ["make", target, *_]:
            assert re.search(rf"^{re.escape(target)}:", (CHECKOUT / "Makefile").read_text(), re.MULTILINE), f"no {target}"
        case [_, "-m", module, *_] if module.partition(".")[0] in OURS:
            assert find_spec(module), f"there is no module {module}"
        case [*_] if programs := [number for number, word in enumerate(words) if re.search(r"(^|/)manage\.py$", word)]:
            run_manage_py(words[programs[0] + 1 :])


def run_manage_py(words: list[str]) -> None:
    """Our subcommands write to the test's database and server. Those of others are parsed."""
    name, *arguments = [each for word in words for each in (sorted(glob(word)) or [word])]
    parse_manage_py([name, *arguments])
    if name == "ratewindow" and arguments[0] not in PARSED_ALONE:
        call_command(name, *arguments, stdout=io.StringIO())


def parse_manage_py(words: list[str], name_alone: bool = False) -> None:
    name, *arguments = words
    app = get_commands()[name]
    parser = (load_command_class(app, name) if isinstance(app, str) else app).create_parser("manage.py", name)
    if name_alone and len(arguments) == 1:
        assert re.search(rf"\b{re.escape(arguments[0])}\b", parser.format_help()), f"there is no subcommand {arguments[0]}"
    else:
        parser.parse_args(arguments)
