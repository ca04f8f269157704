"""Webhooks go to the public internet alone, whatever Python takes for global."""

import pytest

from ratewindow.contrib.alerts.public_addresses import internal_host, is_public

INTERNAL = """
0.0.0.0 0.1.2.3 10.1.2.3 100.64.0.1 100.100.100.200 127.0.0.1 127.8.8.8 168.63.129.16 169.254.169.254 169.254.170.2
172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.9 192.0.0.10 192.0.0.170 192.0.0.192 192.0.2.1 192.88.99.1 192.168.1.1
198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.7 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 :: ::1
::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::10.0.0.1 64:ff9b::169.254.169.254
64:ff9b::168.63.129.16 64:ff9b:1::1 64:ff9b:1:abcd::8.8.8.8 100::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2
2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:808:808::1 3fff::1 5f00::1 fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1
fe80::1%eth0 febf::1 fec0::1 feff::1 ff02::1 1::1 4000::1
2001:4860::5efe:a00:1 2001:4860::200:5efe:a9fe:a9fe 2a00:1450::5efe:127.0.0.1 2600::300:5efe:192.168.0.1
""".split()
PUBLIC = """
1.1.1.1 8.8.8.8 100.63.255.255 100.128.0.1 168.63.129.17 172.32.0.1 192.0.1.1 192.31.196.1 198.17.0.1 223.255.255.255
64:ff9b::8.8.8.8 2001:200::1 2001:4860:4860::8888 2003::1 2606:4700::1111 2a00:1450::1 3ffe::1
2001:4860::5efe:808:808 2001:4860::200:5eff:a00:1
""".split()


@pytest.mark.parametrize("address", INTERNAL)
def test_what_is_internal_reserved_or_leads_there_is_not_public(address: str) -> None:
    assert not is_public(address)
    host = f"[{address}]" if ":" in address else address
    assert internal_host(f"https://{host}/hook") == address.lower()


@pytest.mark.parametrize("address", PUBLIC)
def test_all_else_is(address: str) -> None:
    assert is_public(address)
