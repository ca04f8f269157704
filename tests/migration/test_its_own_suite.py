"""django-ratelimit's own tests of its decorator, with only the import changed; docs/migration tells of those that fail.

They are read from the package that is installed, and each of them begins with fresh counts, as a site's tests do.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]
SHIM = "ratewindow.contrib.moving.django_ratelimit"
DECORATOR = ["RatelimitTests", "RatelimitCBVTests", "CacheFailTests"]
REST = ["RateParsingTests", "FunctionsTests", "IpMetaTests"]

SETTINGS = """
SECRET_KEY = "of tests"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "ratewindow"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
CACHES["connection-errors"] = {"BACKEND": "away.Away"}
CACHES["connection-errors-redis"] = {"BACKEND": "away.Away"}
CACHES["instant-expiration"] = {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}
ROOT_URLCONF = "away"
TEST_RUNNER = "away.Runner"
"""
AWAY = """
import json, pathlib
from django.core.cache.backends.locmem import LocMemCache
from django.test.runner import DiscoverRunner
from django.test.utils import iter_test_cases
from ratewindow.testing import fresh_counts

urlpatterns = []

class Away(LocMemCache):
    def add(self, *args, **kwargs):
        return False

    def incr(self, *args, **kwargs):
        raise ValueError

    get = incr

class FreshWhereItCounts(fresh_counts):
    _settings = {}  # so that a setting of django-ratelimit still says where that is

class Runner(DiscoverRunner):
    def build_suite(self, *args, **kwargs):
        suite = super().build_suite(*args, **kwargs)
        for case in {type(test) for test in iter_test_cases(suite)}:
            FreshWhereItCounts()(case)
        return suite

    def suite_result(self, suite, result, **kwargs):
        wrong = [test.id().rpartition(".")[2] for test, _ in result.failures + result.errors]
        pathlib.Path("result.json").write_text(json.dumps([result.testsRun, wrong]))
        return 0
"""


DIFFERENT = {
    # They expect an exception, and the decorator answers 429.
    "test_block",
    "test_ratelimit_custom_exception_class",
    "test_ratelimit_custom_string_exception_class",
    "test_no_key",  # an error there; counts by ip here
    # They set RATELIMIT_IPV4_MASK and RATELIMIT_IPV6_MASK, RATELIMIT_USE_CACHE and RATELIMIT_FAIL_OPEN.
    "test_ratelimit_mask_v4",
    "test_ratelimit_full_mask_v6",
    "test_bad_cache",
    "test_limit_on_cache_connection_error",
    "test_fail_open_setting",
    # They name a function by its dotted path, and here a function is passed itself.
    "test_callable_key_path",
    "test_callable_rate_import",
}
ARGUED = {
    "test_bad_cache",  # an exception at each request there; an error of the checks, and a refusal, here
    "test_cache_timeout",  # a cache that keeps nothing limits nobody there; it is not asked here
}
ARGUED_OF_FUNCTIONS = {
    "test_simple",  # 100/10 is by seconds there, and an error here
    "test_is_ratelimited_cache_connection_error_without_increment",  # passes there, and is refused here
    # Exceptions there; here a KeyError, and the address "unknown".
    "test_bad_config",
    "test_empty_ip",
}


def with_our_decorator(source: str) -> str:
    return source.replace("from django_ratelimit.decorators import ratelimit", "from ratewindow import ratelimit")


def with_shim(source: str) -> str:
    """All that a site replaces; its own functions are where it is, and so are these tests."""
    own = source.replace("django_ratelimit.tests.", "theirs.")
    return re.sub(r"(^|[^.\w])django_ratelimit\b", rf"\1{SHIM}", own, flags=re.MULTILINE)


def run(tmp_path: Path, moved: Callable[[str], str], classes: list[str]) -> tuple[int, set[str], set[str]]:
    """How many tests these classes have without those of `is_ratelimited`, which tests fail, and which are of that."""
    spec = find_spec("django_ratelimit.tests")
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    assert moved(source) != source
    settings = f"{SETTINGS}INSTALLED_APPS += [{SHIM!r}]" if SHIM in moved(source) else SETTINGS
    for name, text in (("theirs", moved(source)), ("site_settings", settings), ("away", AWAY)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    cases = [f"theirs.{each}" for each in classes]
    environment = {"DJANGO_SETTINGS_MODULE": "site_settings", "PYTHONPATH": f"{CHECKOUT}:{tmp_path}"}
    command = [sys.executable, "-m", "django", "test", *cases]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    count, failed = json.loads((tmp_path / "result.json").read_text())
    of_core = set(re.findall(r"def (test_is_ratelimited\w*)", source))
    others = sum(f"{name}(self" in source.partition("class CacheFailTests")[2] for name in of_core)
    return count - others, set(failed), of_core


def page() -> str:
    return (CHECKOUT / "docs" / "migration" / "django_ratelimit.md").read_text(encoding="utf-8")


def test_what_fails_with_the_shim_is_named_with_its_reason(tmp_path: Path) -> None:
    count, failed, of_core = run(tmp_path, with_shim, DECORATOR)
    assert failed - of_core == ARGUED
    assert f"Of its {count} tests of the decorator, {count - len(ARGUED)} pass with the shim" in page()
    assert all(name in page() for name in ARGUED)


def test_what_fails_of_its_functions_with_the_shim_is_named(tmp_path: Path) -> None:
    _, failed, _ = run(tmp_path, with_shim, [*DECORATOR, *REST])
    assert failed == ARGUED | ARGUED_OF_FUNCTIONS


def test_what_fails_with_our_decorator_is_named_with_its_reason(tmp_path: Path) -> None:
    count, failed, of_core = run(tmp_path, with_our_decorator, DECORATOR)
    assert failed - of_core == DIFFERENT
    assert f"{count - len(DIFFERENT)} with `from ratewindow import ratelimit`" in page()


SITE = """
import django_ratelimit
from django_ratelimit import UNSAFE
from django_ratelimit.decorators import ratelimit
from shop.my_django_ratelimit import ours
MIDDLEWARE = ["django_ratelimit.middleware.RatelimitMiddleware"]
"""


def test_the_line_on_the_page_replaces_what_a_site_imports_also_if_it_is_run_twice(tmp_path: Path) -> None:
    (tmp_path / "site.py").write_text(SITE, encoding="utf-8")
    [script] = re.findall(r"sed -Ei '([^']+)'", page())
    for _ in range(2):
        subprocess.run(["sed", "-Ei", script, "site.py"], cwd=tmp_path, check=True)
    replaced = (tmp_path / "site.py").read_text(encoding="utf-8")
    assert replaced.replace(SHIM, "django_ratelimit") == SITE
    assert replaced.count(SHIM) == 4
