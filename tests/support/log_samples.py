"""Where the samples of logs are, and the formats of those that have their own."""

from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "operations/logs/samples"
OWN = {
    "nginx-own.log": "$msec|$remote_addr:$remote_port|$host$request_uri|$request_method|$status|$request_time",
}
