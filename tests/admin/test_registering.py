"""Hosts that register every model, and settings that are tuples."""

import subprocess
import sys
from pathlib import Path

HOST = """
from django.apps import apps
from django.contrib import admin

for model in apps.get_models():
    if not admin.site.is_registered(model):
        admin.site.register(model)
"""
SETTINGS = """
from testproject.settings import *

INSTALLED_APPS = (*(each for each in INSTALLED_APPS if each != "ratewindow"), "host")
# As the README says:
INSTALLED_APPS = [*INSTALLED_APPS, "ratewindow"]
"""
PROGRAM = """
import django
django.setup()
from django.contrib import admin
from ratewindow.models import Override, RateRule, ThrottleStat
print(*(type(admin.site.get_model_admin(model)).__module__ for model in (RateRule, Override, ThrottleStat)))
"""


def test_a_host_that_registers_every_model_in_a_loop_has_our_pages_all_the_same(
    tmp_path: Path, program_environment: dict[str, str]
) -> None:
    (tmp_path / "host").mkdir()
    (tmp_path / "host" / "__init__.py").write_text("")
    (tmp_path / "host" / "admin.py").write_text(HOST)
    (tmp_path / "hostsettings.py").write_text(SETTINGS)
    checkout = str(Path(__file__).resolve().parents[2])
    environment = {
        **program_environment,
        "PYTHONPATH": f"{tmp_path}:{checkout}",
        "DJANGO_SETTINGS_MODULE": "hostsettings",
    }
    told = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, cwd=checkout)
    assert told.stdout.split() == [
        "ratewindow.admin.rules.rule_admin",
        "ratewindow.admin.overrides.override_admin",
        "ratewindow.admin.report.report_admin",
    ], told.stderr


def test_the_lines_of_the_readme_add_to_lists_and_to_tuples() -> None:
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text()
    lines = [line for line in readme.splitlines() if line.startswith(("INSTALLED_APPS", "MIDDLEWARE"))]
    for before in (["host"], ("host",)):
        settings: dict[str, object] = {"INSTALLED_APPS": before, "MIDDLEWARE": before}
        exec("\n".join(lines), settings)
        assert settings["INSTALLED_APPS"] == ["host", "ratewindow"]
        assert settings["MIDDLEWARE"] == ["host", "ratewindow.middleware.RateWindowMiddleware"]
