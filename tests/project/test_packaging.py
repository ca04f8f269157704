"""The package as strangers install it: the same bytes whoever builds it, on each Python, and the limiter even without Django."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((CHECKOUT / "pyproject.toml").read_text("utf-8"))

pytestmark = pytest.mark.slow

ONE_DECISION = """
import importlib.util, redis, sys
assert importlib.util.find_spec("django") is None
from ratewindow.limiter import Limiter, MemoryStore, RedisStore, Window
stores = [MemoryStore(), RedisStore(redis.Redis.from_url(sys.argv[1]))]
for store in stores:
    limiter = Limiter(store)
    answers = [bool(limiter.hit("user:42", [Window(2, period_ms=60_000)])) for _ in range(3)]
    assert answers == [True, True, False], answers
assert "django" not in sys.modules
print("decided")
"""


LIMITED_SITE = """
INSTALLED_APPS = [*INSTALLED_APPS, "ratewindow"]
MIDDLEWARE = [*MIDDLEWARE, "ratewindow.middleware.RateWindowMiddleware"]
RATEWINDOW = {"REDIS": "memory://"}
"""


def tried(*command, cwd=CHECKOUT):
    """Without what leads to the checkout, or to the settings of its tests."""
    environment = {name: value for name, value in os.environ.items() if name not in ("DJANGO_SETTINGS_MODULE", "PYTHONPATH")}
    return subprocess.run([str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True)


def run(*command, cwd=CHECKOUT):
    done = tried(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("builder")
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", *PYPROJECT["dependency-groups"]["dist"])
    return python


@pytest.fixture(scope="module")
def dist(tmp_path_factory, builder):
    """What RATEWINDOW_DIST names, as a release was built; else built here, and once more in another place: unlike builds fail."""
    if built := os.environ.get("RATEWINDOW_DIST"):
        return CHECKOUT / built
    folder = tmp_path_factory.mktemp("dist")
    run(CHECKOUT / ".ci" / "dist", folder, builder)
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    return next(dist.glob("*.whl"))


@pytest.fixture(scope="module")
def source(dist):
    return next(dist.glob("*.tar.gz"))


@pytest.fixture(scope="module")
def metadata(wheel) -> Message:
    with zipfile.ZipFile(wheel) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_string(packed.read(name).decode())


def test_a_build_that_differs_is_seen(builder, tmp_path):
    """Here by the age of its files."""
    copy = shutil.copytree(CHECKOUT, tmp_path / "copy", ignore=shutil.ignore_patterns(".?*", "tests", "docs"))
    shutil.copytree(CHECKOUT / ".ci", copy / ".ci")
    with (copy / "pyproject.toml").open("a") as file:
        file.write("[tool.hatch.build]\nreproducible = false\n")
    done = tried(copy / ".ci" / "dist", tmp_path, builder)
    assert done.returncode != 0
    assert "differ" in done.stdout


def test_an_index_takes_it(builder, wheel, source):
    assert run(builder, "-m", "twine", "check", "--strict", wheel, source).count("PASSED") == 2


def test_the_source_has_all_that_its_tests_and_documents_speak_of(source):
    with tarfile.open(source) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    tracked = run("git", "ls-files").split() if (CHECKOUT / ".git").exists() else []
    assert not {name for name in tracked if name not in names} - {".gitignore"}
    assert "docs/developers/settings.md" in names


def test_the_wheel_carries_the_lua_and_nothing_else_of_the_checkout(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    for path in (CHECKOUT / "lua").rglob("*.lua"):
        assert f"ratewindow/{path.relative_to(CHECKOUT)}" in names
    for path in (CHECKOUT / "ratewindow").rglob("*.*"):
        assert (str(path.relative_to(CHECKOUT)) in names) == (path.suffix not in (".pyc", ".swp", ".po")), path
    assert {name.split("/")[0] for name in names} == {"ratewindow", wheel.name.partition("-py3")[0] + ".dist-info"}
    assert not any(name.startswith("ratewindow/docs/") for name in names)


def test_the_wheel_has_at_most_a_megabyte(wheel):
    assert wheel.stat().st_size <= 1_000_000


def test_the_wheel_has_the_licence_of_all_that_is_in_it(wheel, metadata):
    vendored = [path.relative_to(CHECKOUT) for path in CHECKOUT.glob("ratewindow/**/vendor/*/")]
    licences = {"LICENSE", *(str(folder / "LICENSE") for folder in vendored)}
    assert len(licences) > 1
    assert set(metadata.get_all("License-File")) == licences
    folder = wheel.name.partition("-py3")[0] + ".dist-info/licenses"
    assert {f"{folder}/{name}" for name in licences} <= set(zipfile.ZipFile(wheel).namelist())
    assert metadata["License-Expression"] == "MIT"


def test_links_and_pictures_of_the_description_lead_somewhere_without_the_checkout(metadata):
    text = metadata.get_payload()
    assert re.findall(r"""(?:\]\(|^\[[^]]+\]: |(?:src|href)=["'])(?!https?://|#)(.*)""", text, re.MULTILINE) == []
    urls = PYPROJECT["project"]["urls"]
    assert f"({urls['Documentation']}/pictures/" in text
    assert f"({urls['Documentation']}/index.html)" in text
    assert f"({urls['Documentation']}/developers/answers.html#headers)" in text
    assert f"({urls['Source']}/blob/v{PYPROJECT['project']['version']}/LICENSE)" in text


WHICH = "import sys, sqlite3, ssl, venv; print('%d.%d' % sys.version_info[:2])"


def interpreter(version):
    """Of that version, with what a site needs."""
    candidates = [f"python{version}", *Path.home().glob(f".pyenv/versions/{version}.*/bin/python")]
    for python in filter(None, map(shutil.which, candidates)):
        if tried(python, "-c", WHICH).stdout.strip() == version:
            return python
    pytest.skip(f"no Python {version} here")


@pytest.fixture
def environment(version, tmp_path):
    """A new one of that Python, without pip, which works from outside."""
    run(interpreter(version), "-m", "venv", "--without-pip", tmp_path / "venv")
    return tmp_path / "venv" / "bin" / "python"


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_a_site_on_each_python_has_nothing_to_correct(builder, wheel, environment, tmp_path):
    run(builder, "-m", "pip", "--python", environment, "install", "--quiet", "--no-compile", wheel)
    run(environment, "-m", "django", "startproject", "mysite", tmp_path)
    with (tmp_path / "mysite" / "settings.py").open("a") as settings:
        settings.write(LIMITED_SITE)
    assert "no issues" in run(environment, "manage.py", "check", cwd=tmp_path)
    run(environment, "manage.py", "migrate", cwd=tmp_path)
    assert "Settings: no problems" in run(environment, "manage.py", "ratewindow", "check", cwd=tmp_path)


@pytest.mark.parametrize("version", ["3.10"])
def test_an_older_python_is_told_which_one_it_takes(builder, wheel, environment):
    installed = tried(builder, "-m", "pip", "--python", environment, "install", wheel)
    assert installed.returncode != 0
    assert "requires a different Python" in installed.stderr
    assert "'>=3.11'" in installed.stderr


@pytest.fixture(scope="module")
def without_django(builder, wheel, tmp_path_factory):
    """A Python that has the wheel and redis, and nothing else."""
    folder = tmp_path_factory.mktemp("without")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    run(builder, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel)
    run(builder, "-m", "pip", "--python", python, "install", "--quiet", "redis>=5.2,<9")
    return python


def test_the_limiter_decides_without_django(without_django, tmp_path, redis_url):
    assert run(without_django, "-c", ONE_DECISION, redis_url, cwd=tmp_path) == "decided\n"


def test_the_documented_examples_of_the_limiter_run_without_django(without_django, tmp_path, redis_url):
    section = (CHECKOUT / "docs" / "developers" / "python.md").read_text().partition("## Without Django")[2].partition("\n## ")[0]
    sync, asynchronous = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    program = f"{sync}\nassert decision.remaining == 9\n{asynchronous}\n    assert decision.remaining == 19\n"
    program = program.replace("redis.Redis()", f"redis.Redis.from_url({redis_url!r})")
    program = program.replace("redis.asyncio.Redis()", f"redis.asyncio.Redis.from_url({redis_url!r})")
    told = run(
        without_django, "-W", "ignore", "-c", f"{program}\nimport asyncio\nasyncio.run(main())\nprint('ran')", cwd=tmp_path
    )
    assert told == "ran\n"
