"""The cleaner among a great many keys; how long it holds up a server with a million, `make faults` measures."""

import pytest

from tests.faults.cleaning import clean, seed
from tests.faults.ground import template
from tests.serving.servers import needs_a_server, place

pytestmark = pytest.mark.slow


def test_among_twenty_thousand_keys_only_those_of_no_rule_go_and_the_server_is_never_asked_for_all(tmp_path) -> None:
    needs_a_server()
    with place(template(tmp_path)) as made:
        seed(made, living=10_000, orphans=10_000, foreign=100)
        cleaned = clean(made)
        assert "10000 of no rule deleted" in cleaned.told
        assert cleaned.left == 10_100
        assert {"scan", "unlink"} <= cleaned.commands
        assert not cleaned.commands & {"keys", "del", "flushdb"}
