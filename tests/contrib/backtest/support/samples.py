"""Where the samples of logs are."""

from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "logs/samples"
