"""A view that blocks the event loop makes nobody's decision late: under uvicorn, whose workers are such loops."""

import pytest

from tests.serving.lag import ask_beside_blocking_views
from tests.serving.servers import Place, until

pytestmark = [pytest.mark.slow, pytest.mark.pace]


@pytest.mark.parametrize("kind", ["uvicorn", "asgi"])
async def test_nobody_is_decided_without_redis_because_a_view_blocks_the_loop(served_place: Place, kind: str) -> None:
    # Five times what a site would have, in proportion: a busy machine's own pauses are shorter than that.
    served = served_place.serve(kind, TIMEOUT="500ms")
    told = await ask_beside_blocking_views(served, 200, block_ms=600)
    assert len(told) >= 190
    assert set(told) == {"decided"}
    until(lambda: "code.quick" in served_place.counted(), "nothing was counted")
    assert served_place.counted()["code.quick"].fallback == 0
