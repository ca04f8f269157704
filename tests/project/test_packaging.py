"""The wheel as strangers install it: the limiter works from it without Django, and the Lua is inside."""

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]

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


def run(*command, cwd=CHECKOUT):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def venv(tmp_path_factory):
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", folder)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory, venv):
    """Built from the source distribution, so that both are known to be complete."""
    run(venv, "-m", "pip", "install", "--quiet", "hatchling>=1.27")
    folder = tmp_path_factory.mktemp("dist")
    run(venv, "-m", "hatchling", "build", "-t", "sdist", "-d", folder)
    run(venv, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, next(folder.glob("*.tar.gz")), cwd=folder)
    return next(folder.glob("*.whl"))


def test_the_source_has_all_that_its_tests_and_documents_speak_of(wheel):
    (source,) = wheel.parent.glob("*.tar.gz")
    with tarfile.open(source) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    tracked = run("git", "ls-files").split() if (CHECKOUT / ".git").exists() else []
    assert not {name for name in tracked if name not in names} - {".gitignore"}
    assert "docs/developers/settings.md" in names


def test_the_wheel_carries_the_lua_the_pages_that_messages_name_and_nothing_else_of_the_checkout(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {"ratewindow/docs/developers/checks.md", "ratewindow/docs/developers/keys.md"} <= set(names)
    for path in (CHECKOUT / "lua").rglob("*.lua"):
        assert f"ratewindow/{path.relative_to(CHECKOUT)}" in names
    for path in (CHECKOUT / "ratewindow").rglob("*.*"):
        assert str(path.relative_to(CHECKOUT)) in names or path.suffix in (".pyc", ".swp"), path
    assert {name.split("/")[0] for name in names} == {"ratewindow", wheel.name.partition("-py3")[0] + ".dist-info"}


@pytest.fixture(scope="module")
def without_django(wheel, tmp_path_factory):
    """A Python that has the wheel and redis, and nothing else."""
    folder = tmp_path_factory.mktemp("without")
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    run(python, "-m", "pip", "install", "--quiet", "redis>=5.2,<9")
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
