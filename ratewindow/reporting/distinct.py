"""How many different clients there were, in 256 bytes however many: HyperLogLog.

Each client falls into one of 256 registers by its digest, which nobody can choose without the SECRET_KEY; the register keeps the
longest run of zero bits seen. The standard error of the estimate is 1.04 / sqrt(256), 6.5 %. Registers of different
processes and minutes are united by their maxima. Flajolet and others, *HyperLogLog*, 2007.
"""

import base64
import math
from itertools import starmap

REGISTERS = 256
ERROR = 1.04 / math.sqrt(REGISTERS)
_ALPHA = 0.7213 / (1 + 1.079 / REGISTERS)
_BITS = 40  # of a digest, beyond those that choose the register
_FIRST = ord("0")  # a register as a printable character

Registers = str  # one character for each; empty if no client was seen


class Distinct:
    """Registers while they grow."""

    __slots__ = ("_registers",)

    def __init__(self) -> None:
        self._registers = bytearray([_FIRST]) * REGISTERS

    def add(self, tag: str) -> None:
        """A client by its `state_keys.remembered_tag`, ``{<digest>}``."""
        digest = base64.urlsafe_b64decode(tag[1:9])
        rank = _BITS - int.from_bytes(digest[1:], "big").bit_length() + 1 + _FIRST
        if rank > self._registers[digest[0]]:
            self._registers[digest[0]] = rank

    def frozen(self) -> Registers:
        return self._registers.decode()


def united(one: Registers, more: Registers) -> Registers:
    return "".join(starmap(max, zip(one, more, strict=True))) if one and more else one or more


def is_registers(value: object) -> bool:
    """Whether this can be what a process has sent."""
    if not isinstance(value, str) or len(value) not in (0, REGISTERS):
        return False
    return all(_FIRST <= ord(each) <= _FIRST + _BITS + 1 for each in value)


def estimate(registers: Registers) -> float:
    """How many clients there were, give or take a standard error of `ERROR`."""
    if not registers:
        return 0.0
    ranks = [ord(each) - _FIRST for each in registers]
    raw = _ALPHA * REGISTERS * REGISTERS / sum(2.0**-rank for rank in ranks)
    empty = ranks.count(0)
    return REGISTERS * math.log(REGISTERS / empty) if raw <= 2.5 * REGISTERS and empty else raw


def at_least(registers: Registers) -> int:
    """A number that there were at least, by two standard errors, and with two digits: 1,000, 1,100."""
    lowest = int(estimate(registers) * (1 - 2 * ERROR))
    beyond = max(0, len(str(lowest)) - 2)
    return int(str(lowest)[:2] + "0" * beyond)
