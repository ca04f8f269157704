"""The plain text of a digest says all that the HTML says."""

import html
import re
from typing import Any

import pytest

from ratewindow.models import AlertChannel
from ratewindow.operations.digests.content import digest, read
from ratewindow.operations.digests.mail import mail
from ratewindow.operations.digests.spans import DAILY, WEEKLY, newest
from tests.support.made_yesterday import NOW, make

pytestmark = pytest.mark.django_db


def made(kind: str) -> Any:
    span = newest(kind, NOW)
    reading = read(span, NOW)
    channel = AlertChannel(name="ops", digest=kind, report_url="https://example.com/report/")
    return mail(digest(channel, span, reading), reading, ["ann@example.com"], True)


@pytest.mark.parametrize("kind", [DAILY, WEEKLY])
def test_every_text_of_the_page_is_in_it(kind: str) -> None:
    make()
    message = made(kind)
    body = " ".join(message.body.split())
    page = re.sub(r"<(style|title)>.*?</\1>", "", message.alternatives[0][0], flags=re.S)
    texts = {" ".join(html.unescape(text).split()) for text in re.findall(r">([^<>]+)<", page)}
    around = re.compile(r"Each bar is .*|\d\d:\d\d|\d+ \w{3}|■|Open the report|Report of \w+|Rate limits, .*")
    assert [text for text in texts if text not in body and not around.fullmatch(text)] == []
    assert set(re.findall(r'href="([^"]+)"', page)) == {html.escape(each) for each in re.findall(r"https\S+", message.body)}


def test_the_chart_is_a_line_for_each_outcome() -> None:
    make()
    assert re.search(r"^▁▁█▁{21} Refused$", made(DAILY).body, re.M)
    assert re.search(r"^[▁-█]{28} Passed$", made(WEEKLY).body, re.M)
