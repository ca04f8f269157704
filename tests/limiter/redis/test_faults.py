"""Every error of a store has a class, which says whom it concerns."""

import pytest
from redis import exceptions
from redis._parsers.base import BaseParser
from redis.asyncio.sentinel import MasterNotFoundError as AsyncMasterNotFoundError
from redis.sentinel import MasterNotFoundError

from ratewindow.limiter.redis import faults
from ratewindow.limiter.redis.faults import BadReply, Concerns, ServerAway, numbers


@pytest.mark.parametrize(
    "said, name",
    [
        ("READONLY You can't write against a read only replica.", "readonly"),
        ("LOADING Redis is loading the dataset in memory", "loading"),
        ("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", "busy"),
        ("OOM command not allowed when used memory > 'maxmemory'.", "oom"),
        ("NOREPLICAS Not enough good replicas to write.", "noreplicas"),
        ("MISCONF Redis is configured to save RDB snapshots, but it is unable to persist to disk.", "misconf"),
        ("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.", "masterdown"),
        ("NOAUTH Authentication required.", "auth"),
        ("WRONGPASS invalid username-password pair or user is disabled.", "auth"),
        ("NOPERM User limits has no permissions to run the 'evalsha' command", "noperm"),
        ("ERR max number of clients reached", "maxclients"),
        ("CLUSTERDOWN The cluster is down", "cluster"),
        ("MOVED 3999 127.0.0.1:6381", "cluster"),
        ("TRYAGAIN Multiple keys request during rehashing of slot", "cluster"),
        ("WRONGTYPE Operation against a key holding the wrong kind of value", "wrongtype"),
        ("ERR user_script:12: attempt to index a nil value", "script"),
        ("ERR Error compiling script (new function): user_script:3: '=' expected", "script"),
        (f"ERR value is not an integer or out of range script: f_{'ab' * 20}, on @user_script:31.", "script"),
        ("CROSSSLOT Keys in request don't hash to the same slot", "script"),
        # As servers before 7 tell what happened inside a script.
        ("ERR Error running script (call to f_ab): @user_script:12: WRONGTYPE Operation against a key", "wrongtype"),
        ("ERR Error running script (call to f_ab): @user_script: 12: -OOM command not allowed", "oom"),
        ("ERR Error running script (call to f_ab): @user_script: 12: -READONLY You can't write", "readonly"),
        ("ERR The user executing the script can't run this command or subcommand", "noperm"),
        ("DENIED Redis is running in protected mode because protected mode is enabled", "denied"),
        ("ERR unknown command 'EVALSHA', with args beginning with: 'ab' '1'", "unsupported"),
        ("ERR unknown command `SENTINEL`, with args beginning with: `masters`", "unsupported"),
        (f"ERR Unknown Redis command called from script script: f_{'ab' * 20}, on @user_script:31.", "unsupported"),
        ("ERR DB index is out of range", "database"),
        ("ERR SELECT is not allowed in cluster mode", "cluster"),
        ("NOSCRIPT No matching script. Please use EVAL.", "error"),
        ("ERR upstream failure", "error"),
    ],
)
def test_what_a_server_says_has_a_class(said: str, name: str) -> None:
    assert faults.of(BaseParser.parse_error(said)).name == name


@pytest.mark.parametrize(
    "error, name",
    [
        (exceptions.TimeoutError("Timeout reading from socket"), "timeout"),
        (TimeoutError(), "timeout"),
        (exceptions.ConnectionError("Error 111 connecting to 127.0.0.1:1. Connection refused."), "connection"),
        (ConnectionResetError(104, "Connection reset by peer"), "connection"),
        (exceptions.MaxConnectionsError("Too many connections"), "pool"),
        (exceptions.InvalidResponse("Protocol Error"), "protocol"),
        (BadReply("nil"), "protocol"),
        (exceptions.ConnectionError("The previous master is now a slave"), "readonly"),
        (MasterNotFoundError("No master found for 'limits'"), "sentinel"),
        (AsyncMasterNotFoundError("No master found for 'limits'"), "sentinel"),
        (ServerAway("10.0.0.1:7000", "oom"), "oom"),
    ],
)
def test_so_has_what_happens_on_the_way(error: Exception, name: str) -> None:
    assert faults.of(error) == (name, Concerns.SERVER)


def test_a_wrong_type_concerns_one_client_and_a_mistake_ourselves() -> None:
    assert faults.of(exceptions.ResponseError("WRONGTYPE Operation")).concerns is Concerns.CLIENT
    assert faults.of(exceptions.ResponseError("user_script:12: attempt to index a nil value")).concerns is Concerns.OURSELVES


@pytest.mark.parametrize("said", ["unknown command 'EVALSHA'", "DB index is out of range", "upstream failure", "ERR"])
def test_an_error_that_no_script_has_raised_is_the_servers(said: str) -> None:
    assert faults.of(exceptions.ResponseError(said)).concerns is Concerns.SERVER


@pytest.mark.parametrize("reply", [None, [], [1, 2, 3], [1, 2, 3, 4, 5], b"text", [1, 2, 3, b"4"], [1, None, 3, 4], 4, "1234"])
def test_what_is_not_as_many_numbers_is_no_reply(reply: object) -> None:
    with pytest.raises(BadReply, match="not 4 numbers"):
        numbers(reply, 4)


def test_a_reply_of_as_many_numbers_is_itself() -> None:
    assert numbers([1, -1, 0, 4], 4) == [1, -1, 0, 4]
