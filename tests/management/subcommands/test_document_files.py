"""Files that the commands read and write, and what they say of changes."""

from pathlib import Path

import pytest
from django.core.management import CommandError

from ratewindow.management.subcommands import document_files
from ratewindow.operations.documents.differences import differences
from tests.support.documents import LOGIN, SEARCH, document


def test_a_file_that_cannot_be_read_has_a_status_of_its_own(tmp_path: Path) -> None:
    for content in (b"rules: [", b"\xff\xfe"):
        file = tmp_path / "bad.yaml"
        file.write_bytes(content)
        with pytest.raises(CommandError, match="cannot be used, nothing was changed") as raised:
            document_files.read(str(file))
        assert raised.value.returncode == document_files.BAD_FILE
    with pytest.raises(CommandError, match="cannot be read: Is a directory") as raised:
        document_files.read(str(tmp_path))
    assert raised.value.returncode == document_files.BAD_FILE


def test_changes_are_counted() -> None:
    changes = differences(document(rules=[LOGIN]), document(rules=[{**LOGIN, "cost": 2}, SEARCH]))
    assert document_files.counted(changes) == "1 added, 1 changed, 0 removed"
