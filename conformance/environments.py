"""A virtual environment for each adapter, made on first use and again when what it needs changes."""

import json
import subprocess
import sys
from pathlib import Path

from conformance.adapter import Adapter

SITE_REQUIREMENTS = ("Django>=5.2,<5.3", "redis==8.1.0", "gunicorn==27.0.1", "uvicorn==0.54.0")
VERSIONS = "import importlib.metadata, json, sys; print(json.dumps([importlib.metadata.version(n) for n in sys.argv[1:]]))"


def python_of(adapter: Adapter, folder: Path) -> Path:
    place = folder / adapter.distribution
    python, stamp = place / "bin" / "python", place / "requirements.json"
    wanted = json.dumps([*SITE_REQUIREMENTS, *adapter.requirements])
    if not stamp.exists() or stamp.read_text() != wanted:
        print(f"Making an environment for {adapter.title} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
        pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        editable = [part for each in adapter.requirements for part in _arguments(each)]
        subprocess.run([*pip, *SITE_REQUIREMENTS, *editable], check=True)
        stamp.write_text(wanted)
    return python


def _arguments(requirement: str) -> list[str]:
    """A checkout is installed editable, so that what is tried is what lies there."""
    name, at, folder = requirement.partition(" @ file://")
    return ["--editable", folder + name[name.find("[") :]] if at else [requirement]


def versions(python: Path, *names: str) -> list[str]:
    told: list[str] = json.loads(subprocess.run([python, "-c", VERSIONS, *names], check=True, capture_output=True).stdout)
    return told
