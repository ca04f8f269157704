"""Sends JSON to a webhook: signed, to no internal address, without redirects, and within three seconds in all."""

import hashlib
import hmac
import http.client
import socket
import ssl
from contextlib import suppress
from threading import Thread
from urllib.parse import urlsplit

from ratewindow.contrib.alerts.public_addresses import is_public

ALL_S = 3.0
TIMESTAMP, SIGNATURE = "X-Ratewindow-Timestamp", "X-Ratewindow-Signature"


class NotDelivered(Exception):
    """Says why."""


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """``sha256=…``: HMAC of the timestamp, a dot and the body."""
    return "sha256=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


def post(url: str, body: bytes, secret: str, timestamp: str) -> None:
    """Raises NotDelivered unless the answer is 2xx."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "ratewindow",
        TIMESTAMP: timestamp,
        SIGNATURE: signature(secret, timestamp, body),
    }
    attempt = _Attempt()
    # Names are resolved without a time limit.
    thread = Thread(target=attempt.run, args=(url, body, headers), name="ratewindow-webhook", daemon=True)
    thread.start()
    thread.join(ALL_S)
    if thread.is_alive():
        attempt.stop()
        raise NotDelivered(f"no answer within {ALL_S:g} s")
    if attempt.error:
        raise NotDelivered(attempt.error)


class _Attempt:
    """One attempt, in a thread of its own, so that it can be given up. `error` is empty if it was delivered."""

    error = ""
    _socket: socket.socket | None = None
    _is_stopped = False

    def run(self, url: str, body: bytes, headers: dict[str, str]) -> None:
        try:
            status = self._status(url, body, headers)
        except ssl.SSLCertVerificationError as error:
            self.error = (
                f"the certificate of {urlsplit(url).hostname} is not trusted ({error.verify_message.rstrip('.')}): use one "
                "of an authority that this machine knows, or name the authority's file in SSL_CERT_FILE"
            )
        except NotDelivered as error:
            self.error = str(error)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.error = f"{type(error).__name__}: {error}"
        else:
            redirects = ": redirects are not followed" if 300 <= status < 400 else ""
            self.error = "" if 200 <= status < 300 else f"answered {status}{redirects}"

    def stop(self) -> None:
        """End what it does with its connection: a receiver that sends a byte now and then would hold it for ever."""
        self._is_stopped = True
        if self._socket is not None:
            with suppress(OSError):  # it was about to end by itself
                self._socket.shutdown(socket.SHUT_RDWR)

    def _status(self, url: str, body: bytes, headers: dict[str, str]) -> int:
        """Of the answer. The connection goes to the address that was checked: a name may lead elsewhere the next time."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise NotDelivered("not a URL that begins with https:// or http://")
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = [str(info[4][0]) for info in socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)]
        if internal := [address for address in addresses if not is_public(address)]:
            raise NotDelivered(f"{parts.hostname} is an internal address ({internal[0]}), to which nothing is sent")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname, port, timeout=ALL_S)
        self._socket = connection.sock = socket.create_connection((addresses[0], port), timeout=ALL_S)
        try:
            if parts.scheme == "https":
                context = ssl.create_default_context()
                self._socket = connection.sock = context.wrap_socket(self._socket, server_hostname=parts.hostname)
            if self._is_stopped:  # nobody is to get what is said not to be delivered
                raise NotDelivered("given up")
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()
