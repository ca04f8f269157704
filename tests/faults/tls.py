"""TLS in front of a server that may not know it: certificates made on the spot, and a listener that unwraps."""

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path


def make_certificates(folder: Path) -> tuple[Path, Path, Path]:
    """An authority, and a certificate of it for 127.0.0.1 with its key."""
    authority, key, certificate = folder / "ca.pem", folder / "key.pem", folder / "cert.pem"
    common = ["-newkey", "rsa:2048", "-nodes", "-subj"]
    # Python 3.13 takes only certificates that say all that RFC 5280 wants.
    itself = ["-x509", "-days", "2", "-addext", "keyUsage = critical, keyCertSign, cRLSign"]
    _openssl("req", *itself, *common, "/CN=authority", "-keyout", str(folder / "ca.key"), "-out", str(authority))
    _openssl("req", *common, "/CN=server", "-keyout", str(key), "-out", str(folder / "request"))
    (folder / "extensions").write_text(
        "subjectAltName = IP:127.0.0.1\nauthorityKeyIdentifier = keyid\nsubjectKeyIdentifier = hash\n"
    )
    signing = ["-CA", str(authority), "-CAkey", str(folder / "ca.key"), "-CAcreateserial", "-days", "2"]
    _openssl(
        "x509", "-req", "-in", str(folder / "request"), *signing, "-extfile", str(folder / "extensions"), "-out", str(certificate)
    )
    return authority, certificate, key


def _openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@contextlib.contextmanager
def unwrapped(port: int, certificate: Path, key: Path) -> Iterator[int]:
    """A port that speaks TLS, and hands on what it hears to the server at `port`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    opened: list[socket.socket] = []
    threads: list[threading.Thread] = []

    def begin(work: object, *arguments: socket.socket) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        threads.append(thread)
        thread.start()

    def accept() -> None:
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            begin(serve, raw)

    def serve(raw: socket.socket) -> None:
        try:
            client = context.wrap_socket(raw, server_side=True)
        except OSError:  # it did not believe our certificate
            raw.close()
            return
        server = socket.create_connection(("127.0.0.1", port))
        opened.extend([client, server])
        begin(pump, server, client)
        pump(client, server)

    def pump(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        begin(accept)
        try:
            yield int(listener.getsockname()[1])
        finally:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            for each in opened:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join()
            for each in opened:
                each.close()
