"""What a browser needs around it."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def _system_programs_on_path() -> Iterator[None]:
    """Debian's chromium begins as a shell script: it fails where PATH holds less than the usual programs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", os.pathsep.join(filter(None, (os.environ.get("PATH"), "/usr/bin", "/bin"))))
        yield
