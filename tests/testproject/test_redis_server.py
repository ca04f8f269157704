import subprocess
import sys

from testproject.redis_server import free_port

OFFERED = """
import itertools
from testproject import redis_server
offered = itertools.chain({ports}, redis_server.PORTS)
redis_server.secrets.choice = lambda ports: next(offered)
print(redis_server.free_port())
"""

WITHOUT_FILES = """
import resource
from testproject.redis_server import free_port
resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))
free_port()
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


def test_no_other_process_is_given_a_port_that_this_one_was_given():
    port = free_port(50)
    told = run(OFFERED.format(ports=[port, port + 50]))
    assert int(told.stdout) not in (port, port + 50)


def test_a_process_that_cannot_open_a_socket_is_told_so():
    assert run(WITHOUT_FILES).stderr.endswith("Too many open files\n")
