"""Over TLS all is as without; and a certificate that is not to be trusted is a fault like any other."""

import shutil
from pathlib import Path

import pytest

from ratewindow.store.breaker import FAILURES_TO_OPEN
from tests.faults.injectors import OwnServer
from tests.faults.proxy import proxied
from tests.faults.site import LIMIT, Answer, Visitor, site_on
from tests.faults.tls import make_certificates, unwrapped

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl here to make certificates with")


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def test_limits_hold_over_tls_with_user_and_password(
    server: OwnServer, visitor: Visitor, certificates: tuple[Path, Path, Path]
) -> None:
    authority, certificate, key = certificates
    server.tell("ACL", "SETUSER", "limits", "on", ">secret/2", "~rw:*", "+@all")
    with (
        unwrapped(server.port, certificate, key) as port,
        site_on(f"rediss://limits:secret%2F2@127.0.0.1:{port}/0?ssl_ca_certs={authority}", "5s"),
    ):
        assert visitor.admitted() == LIMIT


def test_who_is_not_trusted_is_not_told_the_password(
    server: OwnServer, visitor: Visitor, certificates: tuple[Path, Path, Path]
) -> None:
    _, certificate, key = certificates
    with unwrapped(server.port, certificate, key) as port, site_on(f"rediss://:secret@127.0.0.1:{port}/0", "5s"):
        assert visitor.ask(FAILURES_TO_OPEN) == [Answer(200, "store:connection")] * FAILURES_TO_OPEN


def test_a_handshake_that_drips_ends_with_the_limit(
    server: OwnServer, visitor: Visitor, certificates: tuple[Path, Path, Path]
) -> None:
    """The bytes of a certificate come one by one, each long before a socket's own timeout."""
    authority, certificate, key = certificates
    with (
        unwrapped(server.port, certificate, key) as port,
        proxied(port) as proxy,
        proxy.drip(0.05),
        site_on(f"rediss://127.0.0.1:{proxy.port}/0?ssl_ca_certs={authority}"),
    ):
        assert visitor.ask(FAILURES_TO_OPEN) == [Answer(200, "store:timeout")] * FAILURES_TO_OPEN
