"""A site as the README's first steps make it."""

import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
README = (CHECKOUT / "README.md").read_text()
FIVE_MINUTES = README.partition("## Five minutes")[2].partition("\n## ")[0]

CLIENT = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "mysite.settings"
import django
django.setup()
from django.test import Client
{before}
print(*[Client().get("/hello/", headers={{"host": "localhost"}}).status_code for _ in range({requests})])
"""


class Site:
    """A site in an empty folder, to which the README's lines are added."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._environment = {**os.environ, "PYTHONPATH": str(CHECKOUT)}
        self._environment.pop("DJANGO_SETTINGS_MODULE", None)
        self.run("-m", "django", "startproject", "mysite", ".")

    def run(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=self._environment, capture_output=True, text=True
        )
        self.errors = done.stderr
        return done.stdout

    def add(self, name: str, lines: str) -> None:
        with (self.folder / "mysite" / name).open("a") as file:
            file.write(f"\n{lines}")

    def answers(self, requests: int, before: str = "") -> str:
        return self.run("-c", CLIENT.format(requests=requests, before=before)).strip()
