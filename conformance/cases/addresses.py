"""Who is one client: proxies, forged headers, networks of IPv6, and what proxies write besides addresses."""

from collections.abc import Iterable

from conformance.cases.case import Group
from conformance.client import Answer, ran, statuses
from conformance.running import Site
from conformance.verdict import Verdict, judge

PROXY, STRANGER = "10.0.0.1", "203.0.113.66"  # the proxy that the site is told of, and another peer
CASES = Group("addresses", "views")


def through(site: Site, peer: str, forwarded: Iterable[str]) -> list[Answer]:
    """Requests to a view that admits five of one client, with these values of X-Forwarded-For.

    X-Real-IP is what a proxy writes there: the last of them, without a port.
    """
    client = site.client(peer)
    return [
        client.get("/few/", X_Forwarded_For=each, X_Real_IP=each.rpartition(",")[2].partition(":")[0].strip())
        for each in forwarded
    ]


@CASES.case("as installed", "As installed, before anybody has thought of proxies, a forged X-Forwarded-For makes no new client.")
def as_installed(site: Site) -> Verdict:
    answers = through(site, "203.0.113.1", (f"192.0.2.{number}" for number in range(20)))
    return judge(ran(answers) == 5, f"{ran(answers)} of 20 admitted at 5")


@CASES.case(
    "behind a proxy",
    "Behind the proxy a client is the address that the proxy saw, whatever stands left of it.",
    "proxy",
    kind="proxied",
)
def behind_a_proxy(site: Site) -> Verdict:
    one = through(site, PROXY, (f"192.0.2.{number}, 198.51.100.7" for number in range(20)))
    other = through(site, PROXY, ["198.51.100.8"] * 5)
    return judge(ran(one) == ran(other) == 5, f"{ran(one)} of 20 admitted at 5 to a forger, {ran(other)} of 5 to another client")


@CASES.case(
    "stranger",
    "A peer that is not the proxy is believed nothing: the site may be reached around its proxy.",
    "proxy",
    kind="proxied",
)
def stranger(site: Site) -> Verdict:
    answers = through(site, STRANGER, (f"192.0.2.{number}" for number in range(20)))
    return judge(ran(answers) == 5, f"{ran(answers)} of 20 admitted at 5")


@CASES.case("ports", "A port that the proxy writes behind the address, as some do, makes no new client.", "proxy", kind="proxied")
def ports(site: Site) -> Verdict:
    answers = through(site, PROXY, (f"198.51.100.20:{port}" for port in range(4000, 4020)))
    return judge(ran(answers) == 5, f"{ran(answers)} of 20 admitted at 5: {statuses(answers)}")


@CASES.case("ipv6 network", "The addresses of one /64, which one customer has, are one client.")
def ipv6_network(site: Site) -> Verdict:
    answers = [site.client(f"2001:db8:5:6::{number:x}").get("/few/") for number in range(1, 21)]
    return judge(ran(answers) == 5, f"{ran(answers)} of 20 admitted at 5")


@CASES.case(
    "mapped ipv4", "On a socket for both families, `::ffff:192.0.2.1` is 192.0.2.1, and another address is another client."
)
def mapped_ipv4(site: Site) -> Verdict:
    first = [site.client(address).get("/few/") for address in ["::ffff:192.0.2.130", "192.0.2.130"] * 5]
    second = [site.client("::ffff:192.0.2.131").get("/few/") for _ in range(5)]
    return judge(ran(first) == ran(second) == 5, f"{ran(first)} of 10 admitted to one client, {ran(second)} of 5 to another")
