"""How a client is mentioned in sentences: found in each spelling, and not in what is longer."""

import pytest

from ratewindow.operations.subject import Named

pytestmark = pytest.mark.django_db

IPV6, IPV4, MAIL = "2001:db8::1", "203.0.113.9", "ann@zed.org"


@pytest.fixture(autouse=True)
def ann(django_user_model: type) -> None:
    django_user_model.objects.create_user("ann", MAIL)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("who", "sentence", "left"),
    [
        (IPV6, "as 2001:DB8:0::1, once more", "as [erased], once more"),
        (IPV6, "2001:db8:0:0::1 and 2001:0db8:0000:0000:0000:0000:0000:0001.", "[erased] and [erased]."),
        (IPV6, "from [2001:DB8::1]:443", "from [[erased]]:443"),
        (IPV6, "(2001:db8::1): again; client:2001:db8::1%eth0", "([erased]): again; client:[erased]%eth0"),
        (IPV6, "2001:db8::1: again, 2001:db8::1/128, 2001:db8::/64", "[erased]: again, [erased], [erased]"),
        (IPV6, "its neighbour 2001:db8::2 is the same client", "its neighbour [erased] is the same client"),
        (IPV6, "2001:db8:0:1::1, 2001:db8::/32 and 12:00:00", "2001:db8:0:1::1, 2001:db8::/32 and 12:00:00"),
        (IPV4, "as ::ffff:203.0.113.9, and ::FFFF:cb00:7109", "as [erased], and [erased]"),
        (IPV4, "203.0.113.9:8080, 203.0.113.9: again", "[erased]:8080, [erased]: again"),
        (IPV4, "http://203.0.113.9/a, <203.0.113.9>, addr:203.0.113.9", "http://[erased]/a, <[erased]>, addr:[erased]"),
        (IPV4, "203.0.113.9-203.0.113.20, 203.0.113.9/32", "[erased]-203.0.113.20, [erased]"),
        (IPV4, "\uff12\uff10\uff13.0.113.\uff19", "[erased]"),
        (IPV4, "203.0.113.90, 1.203.0.113.9, 203.0.113.9.1", "203.0.113.90, 1.203.0.113.9, 203.0.113.9.1"),
        ("203.0.113.0", "of 203.0.113.0/24", "of 203.0.113.0/24"),
        (IPV4, "203.0.113.009, 0xCB.0.0x71.9", "203.0.113.009, 0xCB.0.0x71.9"),
        (IPV4, "3405803785, 203\u30020\u3002113\u30029", "3405803785, 203\u30020\u3002113\u30029"),
        (IPV4, "203.0.113[.]9, 9.113.0.203.in-addr.arpa", "203.0.113[.]9, 9.113.0.203.in-addr.arpa"),
        (MAIL, "ann%40zed.org, ann [at] zed.org", "ann%40zed.org, ann [at] zed.org"),
        (f"post:email:{MAIL}", "mail by ANN@zed.org, post:email:ann@zed.org", "mail by [erased], [erased]"),
        (MAIL, "mail by \uff41nn@zed.org", "mail by [erased]"),
        (MAIL, "mail by Ann@\uff3a\uff25\uff24.org: spam", "mail by [erased]: spam"),
        (MAIL, "<mailto:ANN@ZED.ORG>, ann@zed.org- and ann@zed.org.", "<mailto:[erased]>, [erased]- and [erased]."),
        (MAIL, "joann@zed.org, ann@zed.org.uk", "joann@zed.org, ann@zed.org.uk"),
        ("post:username:\u00e9va", "as POST:username:E\u0301VA!", "as [erased]!"),
    ],
)
def test_each_spelling_is_erased_and_no_other_client(who: str, sentence: str, left: str) -> None:
    named = Named(who)
    assert named.without(sentence) == left
    assert named.is_mentioned(sentence) is (left != sentence)
