"""django-ratelimit's own tests of its decorator, with only the import changed; docs/migration tells of those that fail.

They are read from the package that is installed, and each of them begins with fresh counts, as a site's tests do.
"""

import json
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CHECKOUT = Path(__file__).resolve().parents[2]

SETTINGS = """
SECRET_KEY = "of tests"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "ratewindow"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
CACHES["connection-errors"] = {"BACKEND": "away.Away"}
CACHES["instant-expiration"] = CACHES["default"]
ROOT_URLCONF = "away"
TEST_RUNNER = "away.Runner"
"""
AWAY = """
import json, pathlib
from django.core.cache.backends.locmem import LocMemCache
from ratewindow.testing import FreshCountsRunner

urlpatterns = []

class Away(LocMemCache):
    def add(self, *args, **kwargs):
        return False

    def incr(self, *args, **kwargs):
        raise ValueError

    get = incr

class Runner(FreshCountsRunner):
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


def test_what_fails_of_it_is_named_with_its_reason(tmp_path: Path) -> None:
    spec = find_spec("django_ratelimit.tests")
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).read_text(encoding="utf-8")
    moved = source.replace("from django_ratelimit.decorators import ratelimit", "from ratewindow import ratelimit")
    assert moved != source
    for name, text in (("theirs", moved), ("site_settings", SETTINGS), ("away", AWAY)):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    cases = ["theirs.RatelimitTests", "theirs.RatelimitCBVTests", "theirs.CacheFailTests"]
    environment = {"DJANGO_SETTINGS_MODULE": "site_settings", "PYTHONPATH": f"{CHECKOUT}:{tmp_path}"}
    command = [sys.executable, "-m", "django", "test", *cases]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    count, failed = json.loads((tmp_path / "result.json").read_text())
    of_core = set(re.findall(r"def (test_is_ratelimited\w*)", source))  # of a function that still comes from there
    assert set(failed) - of_core == DIFFERENT
    of_decorator = count - sum(f"{name}(self" in source.partition("class CacheFailTests")[2] for name in of_core)
    page = (CHECKOUT / "docs" / "migration" / "django_ratelimit.md").read_text(encoding="utf-8")
    assert f"django-ratelimit's {of_decorator} tests of its decorator, {of_decorator - len(DIFFERENT)} pass" in page
