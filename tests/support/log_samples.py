"""Where the samples of logs are, and the formats of those that have their own."""

from pathlib import Path

SAMPLES = Path(__file__).parent.parent / "operations/logs/samples"
OWN = {
    "nginx-own.log": "$msec|$remote_addr:$remote_port|$host$request_uri|$request_method|$status|$request_time",
    "apache-own.log": (
        r'LogFormat "%a [%{%d/%b/%Y:%H:%M:%S}t.%{usec_frac}t %{%z}t] %v %m %U%q %>s '
        r'\"%{X-Forwarded-For}i\" \"%{User-Agent}i\" %D" precise'
    ),
}
