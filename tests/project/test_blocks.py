"""Every block of code in the documents holds: it is run, or read by what reads it on a site.

What cannot be is marked on the line before it, ``<!-- not run: why -->``; a mark that is not needed fails, too.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import prometheus_client
import pytest
from django.contrib import admin

from ratewindow import signals
from ratewindow.contrib.metrics import open_telemetry
from ratewindow.contrib.privacy.commands import subject
from ratewindow.identity import custom_keys
from ratewindow.identity.site_answers import SiteFunctions
from ratewindow.models import RateRule
from ratewindow.overrides import conditions
from ratewindow.rules import limits_from
from tests.support import readers_site
from tests.support.blocks import CHECKOUT, MARK, PAGES, Block, blocks_in, blocks_of, without_blocks, without_code
from tests.support.read_commands import check_commands, check_named
from tests.support.read_files import READ_BY
from tests.support.read_python import Reader

pytestmark = pytest.mark.slow

SIGNALS = (signals.throttled, signals.quota_reached, signals.rules_changed, signals.degraded, signals.recovered)
REMEDY = "mend it, or write <!-- not run: why --> on the line before the block"
LOG_LINE = '203.0.113.9 - - [01/Jul/2026:04:00:01 +0000] "POST /login/ HTTP/1.1" 200 512\n'


@pytest.fixture
def site(db: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Where a reader can do as they like: what blocks register, save and write is gone afterwards."""
    monkeypatch.setattr(custom_keys, "_registered", custom_keys._registered.copy())
    monkeypatch.setattr(conditions, "registered", SiteFunctions("condition", conditions._HOLDS))
    monkeypatch.setattr(limits_from, "registered", SiteFunctions("limits", limits_from._HOLDS))
    for each in SIGNALS:
        monkeypatch.setattr(each, "receivers", each.receivers.copy())
    monkeypatch.setattr(prometheus_client, "REGISTRY", prometheus_client.CollectorRegistry())
    readers_site.play_absent(monkeypatch)
    for name in ("RATEWINDOW_PEPPER", "RATEWINDOW_PEPPER_BEFORE"):
        monkeypatch.setenv(name, f"{name} of the reader's")
    monkeypatch.setattr(subject, "SETTLED_S", 0)
    monkeypatch.chdir(tmp_path)
    Path("access.log").write_text(LOG_LINE * 20)
    RateRule.objects.define("login", "5/m", path="/login/", mode="enforce")
    with patch.dict(admin.site._registry):
        yield
    open_telemetry.uninstrument()


def read(reader: Reader, block: Block) -> None:
    """Raises what is wrong with the block."""
    match block.language:
        case "python":
            reader.follow(block)
        case "console" | "sh":
            check_commands(block.code)
        case "":
            raise AssertionError("it has no language: write one behind the fence, such as python, sh or text")
        case language if language.startswith("{"):
            pass  # a directive of the site, which fails to be built with a wrong one
        case language:
            assert language in READ_BY, f"nothing reads {language}: add what does to READ_BY in tests/support/read_files.py"
            READ_BY[language](block.code)


def problems(blocks: list[Block], reader: Reader) -> list[str]:
    found = []
    for block in blocks:
        try:
            read(reader, block)
        except (Exception, SystemExit) as error:
            if not block.mark:
                found.append(f"{block}: {type(error).__name__}: {error}: {REMEDY}")
        else:
            if block.mark is not None:
                found.append(f"{block}: nothing is wrong with it any more: remove its mark")
    found += dict.fromkeys(reader.problems())
    reader.leave()
    return found


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize("page", [page for page in PAGES if blocks_of(page)])
def test_the_blocks_of_a_page_hold(page: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = problems(blocks_of(page), Reader(page, redis_url, monkeypatch))
    assert not found, "\n".join(found)


@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    "text, problem",
    [
        ("```\nmanage.py check\n```", "it has no language"),
        ("```cobol\nSTOP RUN.\n```", "nothing reads cobol"),
        ("```python\nfrom ratewindow import ratelimits\n```", "cannot import name"),
        ("```python\nlen('abc')  # 4, not 3\n```", "gives 3, not 4"),
        ("```python\ndef view(request):\n    return render(request)\n```", "uses 'render', which no block"),
        ("```python\nimport ratewindow\ndef mail(to):\n    ratewindow.hits(to)\n```", "has no attribute 'hits'"),
        ("```python\nimport ratewindow\ndef mail(to):\n    ratewindow.hit(to, limit=1)\n```", "missing a required argument"),
        ("```python\nRATEWINDOW = {'REDIS_URL': 'redis://localhost'}\n```", "Did you mean 'REDIS'?"),
        ("```python\nINSTALLED_APPS += ['ratewindow.contrib.histories']\n```", "No module named"),
        ("```python\nMIDDLEWARE += ['ratewindow.middleware.Middleware']\n```", "has no attribute 'Middleware'"),
        ("```python\nREST_FRAMEWORK = {'THROTTLES': []}\n```", "Invalid API setting"),
        ("```console\necho 'a\n```", "unexpected EOF"),
        ("```console\n$ python manage.py ratewindow check --fast\nfine\n```", "unrecognized arguments: --fast"),
        ("```console\nmanage.py ratewindow mode logins off\n```", "There is no rule 'logins'"),
        ("```console\npython manage.py migrate --all\n```", "unrecognized arguments: --all"),
        ("```console\nmake tests\n```", "no tests"),
        ("```text\nlimit(name, rate, *, cost=2)\n```", "cost of limit"),
        ("```text\n* * * * * venv/bin/python manage.py ratewindow collects\n```", "invalid choice: 'collects'"),
        ("```text\nmaxmemory 512mb  # enough\n```", "wrong number of arguments"),
        ("```json\n{'a': 1}\n```", "Expecting property name"),
        ("```yaml\nratewindow: 1\nrules: [{name: login, limit: 5}]\n```", "limit"),
        ("```toml\na = b\n```", "Invalid value"),
        ("```html\n{% load ratewindow %}{% our_limits %}\n```", "our_limits"),
        ("```nginx\nlocation / {\n    proxy_pass a\n}\n```", "ends in none of"),
        ("```http\n429 Too Many Requests\n```", "begins no message"),
        ("<!-- not run: why -->\n```json\n{}\n```", "remove its mark"),
        ("<!-- not run -->\n```json\n{\n```", "Expecting property name"),
    ],
)
def test_a_block_that_does_not_hold_is_found(text: str, problem: str, redis_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    [found] = problems(blocks_in(f"{text}\n", "page.md"), Reader("page.md", redis_url, monkeypatch))
    assert found.startswith("page.md:") and problem in found


@pytest.mark.parametrize("page", PAGES)
def test_each_fence_has_its_other_one_below_it(page: str) -> None:
    """Else it would be no block here, and nothing would read it."""
    assert not re.findall(r"^[\s>]*(?:```|~~~).*$", without_blocks((CHECKOUT / page).read_text()), re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_a_mark_stands_on_the_line_before_its_block(page: str) -> None:
    marks = MARK.findall(without_code((CHECKOUT / page).read_text()))
    assert len(marks) == sum(block.mark is not None for block in blocks_of(page))


def test_few_blocks_of_python_are_marked() -> None:
    python = [block for page in PAGES for block in blocks_of(page) if block.language == "python"]
    assert sum(block.mark is not None for block in python) < 0.15 * len(python)


@pytest.mark.parametrize("page", sorted(readers_site.OWN))
def test_names_of_the_reader_s_own_are_used(page: str) -> None:
    code = "".join(block.code for block in blocks_of(page))
    assert [name for name in readers_site.OWN[page].split() if not re.search(rf"\b{name}\b", code)] == []


@pytest.mark.parametrize("page", PAGES)
def test_commands_in_sentences_are_commands(page: str) -> None:
    text = without_blocks((CHECKOUT / page).read_text())
    for command in re.findall(r"`(?:python )?manage\.py\s+(ratewindow\s[^`]+)`", text):
        check_named(command)
