"""Keys of counts as the limiter makes them, for tests of the cleaner."""

from ratewindow.limiter.types import Window
from ratewindow.store import state_keys

MINUTE = Window(5, 60_000)


def key(rule, window=MINUTE, client="ip:203.0.113.9", is_beside=False):
    return (
        state_keys.state_prefix()
        + state_keys.state_name(rule, window.tag, is_beside).removeprefix(":s:")
        + state_keys.client_tag(client)
    )
