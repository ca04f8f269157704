"""What a browser needs around it."""

import os
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def _system_programs_on_path() -> Iterator[None]:
    """Debian's chromium begins as a shell script: it fails where PATH holds less than the usual programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join(filter(None, (os.environ.get("PATH"), "/usr/bin", "/bin"))))
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """For this module only: while it is open an event loop runs in this thread, which Django is told to bear."""
    from tests.browser.chromium import ARGUMENTS, CHROMIUM, sync_api

    with pytest.MonkeyPatch.context() as patch, sync_api.sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()
