"""The doors behind real web servers: every case passes on each kind of server, with several workers."""

import pytest

from tests.serving.servers import Served

pytestmark = pytest.mark.slow


def test_a_rule_by_path_refuses_above_its_limit_whichever_worker_answers(served: Served) -> None:
    assert served.statuses("/path/", 4) == [200, 200, 429, 429]
