"""How many modules of the package a site loads by its first answer; ``make weight`` prints memory and time as well."""

from pathlib import Path

import pytest

from benchmarks.weight import MOST_MODULES, measure, prepare


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("weight") / "weight.sqlite3"
    prepare(str(path))
    return str(path)


@pytest.mark.parametrize("name", ["limiter alone", "and middleware"])
def test_a_site_loads_few_modules(name: str, database: str) -> None:
    assert measure(name, True, database).modules <= MOST_MODULES[name]
