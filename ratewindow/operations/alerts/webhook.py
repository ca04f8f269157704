"""Sends JSON to a webhook: signed, to no internal address, without redirects, and within three seconds in all."""

import hashlib
import hmac
import http.client
import socket
import ssl
from contextlib import suppress
from threading import Thread
from urllib.parse import urlsplit

from ratewindow.conf.public_addresses import is_public

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
    sending = _Sending(url, body, headers)
    thread = Thread(target=sending.run, name="ratewindow-webhook", daemon=True)  # names are resolved without a time limit
    thread.start()
    thread.join(ALL_S)
    if thread.is_alive():
        sending.stop()
        raise NotDelivered(f"no answer within {ALL_S:g} s")
    if sending.error:
        raise NotDelivered(sending.error)


class _Sending:
    """One attempt, in a thread of its own, so that it can be given up."""

    def __init__(self, url: str, body: bytes, headers: dict[str, str]) -> None:
        self.url, self.body, self.headers = url, body, headers
        self.error = ""
        self._socket: socket.socket | None = None
        self._stopped = False

    def run(self) -> None:
        try:
            self.error = self._send()
        except ssl.SSLCertVerificationError as error:
            host = urlsplit(self.url).hostname
            self.error = (
                f"the certificate of {host} is not trusted ({error.verify_message.rstrip('.')}): use one of an authority that "
                "this machine knows, or name the authority's file in SSL_CERT_FILE"
            )
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.error = f"{type(error).__name__}: {error}"

    def stop(self) -> None:
        self._stopped = True
        if self._socket is not None:
            with suppress(OSError):  # it was about to end by itself
                self._socket.shutdown(socket.SHUT_RDWR)

    def _send(self) -> str:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return "not a URL that begins with https:// or http://"
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = [str(info[4][0]) for info in socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)]
        if internal := [each for each in addresses if not is_public(each)]:
            return f"{parts.hostname} is an internal address ({internal[0]}), to which nothing is sent"
        if self._stopped:
            return "given up"
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname, port, timeout=ALL_S)
        self._socket = connection.sock = self._connected(addresses[0], port)
        try:
            if parts.scheme == "https":
                context = ssl.create_default_context()
                self._socket = connection.sock = context.wrap_socket(self._socket, server_hostname=parts.hostname)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("POST", target, self.body, self.headers)
            status = connection.getresponse().status
        finally:
            connection.close()
        if 300 <= status < 400:
            return f"answered {status}: redirects are not followed"
        return "" if 200 <= status < 300 else f"answered {status}"

    @staticmethod
    def _connected(address: str, port: int) -> socket.socket:
        """By the address that was checked: a name may lead elsewhere the next time."""
        return socket.create_connection((address, port), timeout=ALL_S)
