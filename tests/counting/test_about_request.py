"""What the report keeps of a refused request."""

import pytest
from django.test import override_settings

from ratewindow.counting.sheets import network_in


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("203.0.113.9", "ip:203.0.113.0/24"),
        ("2001:db8:1:2::/64", "ip:2001:db8:1::/48"),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_the_network_in_an_address(address, network):
    assert network_in(f"ip:{address}") == network


def test_where_a_client_is_finer_than_a_64_the_network_is_the_64(settings):
    with override_settings(RATEWINDOW={**settings.RATEWINDOW, "IPV6_PREFIX": 128}):
        network_in.cache_clear()
        assert network_in("ip:2001:db8:1:2::9") == "ip:2001:db8:1:2::/64"
    network_in.cache_clear()
