"""Logs as files: several of them, packed, cut off, out of order, and full of what is no request."""

import gzip
import io
import sys

import pytest

from ratewindow.contrib.backtest.logs.entry import LogError
from ratewindow.contrib.backtest.logs.log import MOST_UNREADABLE, open_logs


def line(second, client="203.0.113.9", path="/"):
    return f'{client} - - [20/Nov/2026:09:{second // 60:02}:{second % 60:02} +0000] "GET {path} HTTP/1.1" 200 12\n'


@pytest.fixture
def written(tmp_path):
    def write(text, name="access.log"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_log_says_what_it_has_read(written):
    path = written(line(0) + line(1) + "\njunk\n" + line(2))
    log = open_logs([path])
    assert [entry.at_s - 1795165200 for entry in log] == [0, 1, 2]
    assert (log.format, log.read, log.unreadable) == ("common", 3, 1)
    assert [str(each) for each in log.examples] == [f"{path}, line 4: not in the format common: 'junk'"]


def test_many_files_are_merged_that_overlap(written):
    logs = [written("".join(line(second) for second in range(worker, 600, 7)), f"{worker}.log") for worker in range(7)]
    log = open_logs(logs)
    assert [entry.at_s - 1795165200 for entry in log] == list(range(600))
    assert (log.read, log.out_of_order) == (600, 0)


def test_files_of_several_formats_are_one_log(written):
    json = '{"time": 1795165201, "ip": "203.0.113.9", "method": "GET", "path": "/"}\n'
    log = open_logs([written(line(0) + line(2)), written(json, "other.log")])
    assert [entry.at_s - 1795165200 for entry in log] == [0, 1, 2]
    assert log.format == "common, json"


def test_files_are_merged_by_time_in_whatever_order_they_are_named(written):
    newer = written(line(10) + line(12) + line(30), "access.log")
    older = written(gzip.compress((line(1) + line(11) + line(13)).encode()), "access.log.1")
    log = open_logs([newer, older])
    assert [entry.at_s - 1795165200 for entry in log] == [1, 10, 11, 12, 13, 30]
    assert log.out_of_order == 0


def test_lines_that_changed_places_are_in_order_again(written):
    log = open_logs([written("".join(line(second) for second in (3, 1, 2, 0, 5, 4)))])
    assert [entry.at_s - 1795165200 for entry in log] == [0, 1, 2, 3, 4, 5]
    assert log.out_of_order == 0


def test_what_is_older_than_the_order_reaches_is_counted(written):
    log = open_logs([written(line(100) * 20_000 + line(5))])
    assert [entry.at_s for entry in log].count(1795165205) == 1
    assert log.out_of_order == 1


def test_a_line_that_is_too_long_is_counted(written):
    log = open_logs([written(line(0) + line(1, path="/" + "a" * 1_000_000) + line(2))])
    assert [entry.at_s - 1795165200 for entry in log] == [0, 2]
    assert log.unreadable == 1 and "line 2:" in str(log.examples[0])


def test_a_packed_log_of_several_parts_is_read_whatever_its_name(written):
    packed = gzip.compress(line(0).encode()) + gzip.compress(b"") + gzip.compress(line(1).encode()) + b"\0" * 20
    assert len(list(open_logs([written(packed)]))) == 2


def test_half_a_packed_file_is_an_error_that_names_it(written):
    packed = gzip.compress("".join(line(second) for second in range(600)).encode())
    with pytest.raises(LogError, match=r"access\.log is cut off or damaged: .* Copy it again"):
        list(open_logs([written(packed[: len(packed) // 2])]))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(LogError, match=r"nowhere\.log cannot be read: No such file"):
        open_logs([tmp_path / "nowhere.log"])


@pytest.mark.parametrize("junk", [b"\x7fELF\x00\x01\n\xff\xfe\n" * 50, b"hello\nworld\n", b"\0" * 100_000])
def test_what_is_no_log_at_all_is_an_error_that_shows_its_lines(written, junk):
    with pytest.raises(LogError, match=r"The format of .*access\.log is not one of those known\. Name it"):
        open_logs([written(junk)])


def test_an_empty_log_has_no_requests(written):
    log = open_logs([written("\n\n"), written("", "other.log")])
    assert (list(log), log.read, log.format) == ([], 0, "")


def test_too_many_unreadable_lines_are_an_error_that_shows_three(written):
    log = open_logs([written(line(0) * 20 + "junk\n" * 10)])
    with pytest.raises(
        LogError, match=f"10 of 30 lines cannot be read in the format common, more than {MOST_UNREADABLE:.0%}"[:-1]
    ) as said:
        list(log)
    assert str(said.value).count("'junk'") == 3


def test_standard_input_and_open_files_are_read(written, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Pipe((line(0) + line(1)).encode())))
    assert len(list(open_logs(["-"]))) == 2
    with written(line(0) + line(1)).open("rb") as file:
        assert len(list(open_logs([file]))) == 2


class Pipe(io.BytesIO):
    def seekable(self):
        return False


def test_a_mark_of_byte_order_is_no_part_of_the_first_client(written):
    text = b"\xef\xbb\xbf" + (line(0) + line(1)).encode()
    for data, name in ((text, "access.log"), (gzip.compress(text), "access.log.gz")):
        assert {entry.client for entry in open_logs([written(data, name)])} == {"203.0.113.9"}


def test_a_first_line_that_is_too_long_hides_no_format(written, monkeypatch):
    data = (b"A" * 1_000_000) + b"\n" + (line(0) + line(1)).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Pipe(data)))
    for log in (open_logs([written(data)]), open_logs(["-"])):
        assert log.format == "common"
        assert (len(list(log)), log.unreadable) == (2, 1)
