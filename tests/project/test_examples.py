"""The examples do what the README says of them."""

import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def test_one_file_answers_five_requests_and_refuses_the_sixth(tmp_path: Path) -> None:
    """Without another word, and without leaving a file."""
    command = [sys.executable, "-W", "error", CHECKOUT / "examples" / "one_file.py"]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("200 200 200 200 200 429\n", "")
    assert not any(tmp_path.iterdir())
