"""Read blocks that are no code: files of settings, of rules and of servers, templates, messages, and the signatures in a text."""

import configparser
import inspect
import io
import json
import re
import subprocess
import tomllib
from collections.abc import Callable
from http.client import parse_headers
from pathlib import Path
from typing import Any

import yaml
from django.template import engines

import ratewindow
from ratewindow.contrib.history import files
from testproject.redis_server import find_program
from tests.support.read_commands import run_manage_py


def _check_text(text: str) -> None:
    """What of it has a form of its own: a signature of ours, a crontab, lines for Redis."""
    for name, arguments in re.findall(r"^(\w+)(\(.*\))$", text, re.MULTILINE):
        told, true = inspect.signature(_function(f"def {name}{arguments}: ...")), inspect.signature(getattr(ratewindow, name))
        differing = {each for each, value in told.parameters.items() if _is_other(value, true.parameters.get(each))}
        assert not differing, f"{', '.join(differing)} of {name}: it takes {true}"
    for arguments in re.findall(r"^[\d*].*manage\.py ratewindow (.*)$", text, re.MULTILINE):
        run_manage_py(["ratewindow", *arguments.split()])
    if re.match(r"(#.*\n)*(sentinel|maxmemory|cluster-[a-z-]+) ", text):
        _check_server_file(text)


def _function(code: str) -> Callable[..., Any]:
    names: dict[str, Any] = {}
    exec(code, names)
    return next(value for name, value in names.items() if name != "__builtins__")


def _is_other(told: inspect.Parameter, true: inspect.Parameter | None) -> bool:
    """Dots for a default stand for any."""
    return true is None or told.kind != true.kind or (told.default is not ... and told.default != true.default)


def _check_server_file(text: str) -> None:
    """A server reads the file as far as its last line, which is wrong by intention."""
    program, last = find_program(), "sentinel no-such-thing mymaster"
    if program:
        Path("server.conf").write_text(f"port 0\nsentinel monitor mymaster 127.0.0.1 6379 2\n{text}{last}\n")
        told = subprocess.run([program, "server.conf", "--sentinel"], capture_output=True, text=True, timeout=30, check=False)
        assert f">>> '{last}'" in told.stderr, told.stderr.strip()


def _check_yaml(text: str) -> None:
    for document in yaml.safe_load_all(text):
        if "ratewindow" in document:
            files.changes(files.read(text.encode()))
    for arguments in re.findall(r"manage\.py ratewindow ([^;\n\"]+)", text):
        run_manage_py(["ratewindow", *arguments.split()])


def _check_ini(text: str) -> None:
    configparser.RawConfigParser().read_string(text)


def _check_nginx(text: str) -> None:
    assert text.count("{") == text.count("}"), "braces do not match"
    unended = [line for line in text.splitlines() if re.search(r"[^{};\s]\s*$", line.partition("#")[0])]
    assert not unended, f"{unended[0].strip()!r} ends in none of {{ }} ;"


def _check_http(text: str) -> None:
    first, _, headers = text.partition("\n")
    assert re.fullmatch(r"HTTP/1\.1 \d{3} .+|[A-Z]+ /\S* HTTP/1\.1", first), f"{first!r} begins no message"
    assert not parse_headers(io.BytesIO(headers.encode())).defects, "a header is malformed"


READ_BY: dict[str, Callable[[str], object]] = {
    "text": _check_text,
    "json": json.loads,
    "yaml": _check_yaml,
    "toml": tomllib.loads,
    "html": lambda text: engines["django"].from_string(text),
    "ini": _check_ini,
    "nginx": _check_nginx,
    "http": _check_http,
}
