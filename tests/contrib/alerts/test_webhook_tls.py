"""Webhooks over HTTPS to a real server: to a certificate that the machine trusts, and to no other."""

import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ratewindow.contrib.alerts import webhook
from ratewindow.contrib.alerts.models import AlertChannel
from ratewindow.contrib.alerts.sending import send_test
from ratewindow.contrib.alerts.webhook import NotDelivered, post
from tests.faults.tls import make_certificates
from tests.support.webhook_receiver import Receiver, receiving

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here to make certificates with")


class Hook(NamedTuple):
    receiver: Receiver
    authority: str  # the file with its certificate


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    monkeypatch.setattr(webhook, "is_public", lambda address: address == "127.0.0.1")
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    authority, certificate, key = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with receiving(context) as receiver:
        yield Hook(receiver, str(authority))


def test_an_authority_of_ones_own_is_trusted_once_it_is_named(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", hook.authority)
    post(hook.receiver.url, b"{}", "s3cret", "1800000000")
    ((path, headers, body),) = hook.receiver.received
    assert (path, body) == ("/hook?team=ops", b"{}")
    assert headers["X-Ratewindow-Signature"] == webhook.signature("s3cret", "1800000000", b"{}")


def test_a_certificate_for_another_name_is_not(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", hook.authority)
    with pytest.raises(NotDelivered, match="the certificate of localhost is not trusted"):
        _post_to_localhost(hook, monkeypatch)
    assert hook.receiver.received == []


@pytest.mark.django_db
def test_one_of_nobody_knows_whom_is_an_error_that_stays_at_the_channel(hook: Hook) -> None:
    channel = AlertChannel.objects.create(name="ops", way="webhook", url=hook.receiver.url)
    send_test(channel)
    channel.refresh_from_db()
    assert channel.error.startswith("the certificate of 127.0.0.1 is not trusted (")
    assert channel.error.endswith(
        "): use one of an authority that this machine knows, or name the authority's file in SSL_CERT_FILE"
    )
    assert hook.receiver.received == []


@pytest.mark.django_db
def test_once_it_is_trusted_the_error_goes(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = AlertChannel.objects.create(name="ops", way="webhook", url=hook.receiver.url)
    send_test(channel)
    monkeypatch.setenv("SSL_CERT_FILE", hook.authority)
    assert send_test(channel) == ""
    channel.refresh_from_db()
    assert channel.error == "" and len(hook.receiver.received) == 1


def _post_to_localhost(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name, which leads to the same server."""
    port = hook.receiver.server.server_port
    monkeypatch.setattr(webhook.socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", port))])
    post(f"https://localhost:{port}/", b"{}", "s3cret", "1800000000")
