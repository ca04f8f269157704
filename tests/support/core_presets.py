"""The ready rules of the core alone, whichever rooms have others in their place."""

from collections.abc import Iterator

import pytest

from ratewindow.start import presets


@pytest.fixture
def core_presets() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(presets, "kinds", lambda: presets.KINDS)
        yield
