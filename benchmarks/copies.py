"""Many clients that stand as one of them does: copied on the server, a million in a few seconds."""

import redis

CHUNK = 10_000
_COPY = """
for number = ARGV[2], ARGV[3] do
  redis.call('COPY', KEYS[1], string.format('%s%012d', ARGV[1], number))
end
"""


def copy(client: redis.Redis, first: str, begins: str, until: int, after: int = 0) -> None:
    """Copy the state `first` to `begins` and each number above `after` and below `until`, in twelve digits."""
    script = client.register_script(_COPY)
    for number in range(after + 1, until, CHUNK):
        script([first], [begins, number, min(number + CHUNK, until) - 1])
