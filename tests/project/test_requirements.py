"""What installing asks for: a site keeps the versions that it has pinned."""

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

PROJECT = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text("utf-8"))["project"]


def asked(*extras: str) -> dict[str, Requirement]:
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in PROJECT["optional-dependencies"][extra])]
    return {requirement.name: requirement for requirement in map(Requirement, lines)}


@pytest.mark.parametrize(
    ("name", "pinned"),
    [
        ("redis", "5.0.1"),
        ("redis", "5.2.1"),
        ("redis", "6.4.0"),
        ("redis", "8.0.0"),
        ("django-redis", "5.4.0"),
        ("django-redis", "7.0.0"),
        ("celery", "5.4.0"),
        ("celery", "5.7.0"),
        ("Django", "5.2"),
        ("Django", "6.1.1"),
    ],
)
def test_a_pinned_version_that_is_supported_may_stay(name: str, pinned: str) -> None:
    assert Version(pinned) in asked("celery")[name].specifier


def test_the_extra_asks_for_celery_alone_whose_own_extras_choose_a_redis_py() -> None:
    assert [Requirement(line).name for line in PROJECT["optional-dependencies"]["celery"]] == ["celery"]
    assert asked("celery")["celery"].extras == set()
