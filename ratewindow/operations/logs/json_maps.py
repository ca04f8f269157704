"""Where programs that write JSON lines have what a request is: for each field its paths, with dots between the keys."""

from typing import Any

Map = dict[str, Any]

# "headers" is an object, or the keys with a prefix. "only" says which lines are about requests.
CADDY: Map = {
    "time": ["ts"],
    "client": ["request.client_ip", "request.remote_ip", "request.remote_addr"],
    "method": ["request.method"],
    "target": ["request.uri"],
    "status": ["status"],
    "user": ["user_id"],
    "host": ["request.host"],
    "headers": "request.headers",
}
TRAEFIK: Map = {
    "time": ["StartUTC", "StartLocal", "time"],
    "client": ["ClientHost", "ClientAddr"],
    "method": ["RequestMethod"],
    "target": ["RequestPath"],
    "status": ["DownstreamStatus"],
    "user": ["ClientUsername"],
    "host": ["RequestHost", "RequestAddr"],
    "headers": "request_*",
}
CLOUDFLARE: Map = {
    "time": ["EdgeStartTimestamp"],
    "client": ["ClientIP"],
    "method": ["ClientRequestMethod"],
    "target": ["ClientRequestURI"],
    "path": ["ClientRequestPath"],
    "status": ["EdgeResponseStatus"],
    "agent": ["ClientRequestUserAgent"],
    "host": ["ClientRequestHost"],
    "header.referer": ["ClientRequestReferer"],
    "headers": "RequestHeaders",
}
# django-structlog's middleware writes a line when a request begins and one when it ends.
STRUCTLOG: Map = {
    "time": ["timestamp"],
    "client": ["ip", "client_ip", "remote_addr"],
    "request": ["request"],
    "status": ["code"],
    "user": ["user_id"],
    "agent": ["user_agent"],
    "only": {"event": ["request_finished", "request_failed"]},
}
# The variables of log_format by their own names.
NGINX: Map = {
    "time": ["msec", "time_iso8601", "time_local"],
    "client": ["remote_addr"],
    "request": ["request"],
    "method": ["request_method"],
    "target": ["request_uri"],
    "path": ["uri"],
    "query": ["args", "query_string"],
    "status": ["status"],
    "user": ["remote_user"],
    "agent": ["http_user_agent"],
    "host": ["host", "http_host", "server_name"],
    "headers": "http_*",
}
# The atoms of access_log_format by their own letters, or by the names of its documentation.
GUNICORN: Map = {
    "time": ["t", "time", "timestamp", "date"],
    "client": ["h", "remote_address", "remote_addr", "remote_ip"],
    "request": ["r", "status_line", "request"],
    "method": ["m", "request_method", "method"],
    "path": ["U", "url_path", "request_path", "path"],
    "query": ["q", "query_string", "request_querystring", "query"],
    "status": ["s", "status", "response_code"],
    "user": ["u", "user_name", "user"],
    "agent": ["a", "user_agent"],
    "header.referer": ["f", "referer"],
    "header.x-forwarded-for": ["x_forwarded_for", "{x-forwarded-for}i"],
}
# Other programs, by the names that are usual, those of ECS and OpenTelemetry among them.
ANY: Map = {
    "time": ["time", "timestamp", "@timestamp", "ts", "date", "datetime", "msec", "time_iso8601", "time_local", "asctime"],
    "client": [
        *("client_ip", "remote_addr", "remote_ip", "remote_address", "ip", "client", "clientip", "remoteAddress"),
        *("client.ip", "source.ip", "client.address", "network.client.ip", "request.ip", "http.client_ip", "req.remoteAddress"),
    ],
    "request": ["request", "request_line"],
    "method": ["method", "request_method", "http_method", "verb", "http.method", "http.request.method", "req.method"],
    "target": ["request_uri", "target", "url", "full_path", "http.url", "http.target", "url.original", "req.url"],
    "path": ["path", "uri", "request_path", "http.path", "url.path"],
    "query": ["query", "args", "query_string", "url.query"],
    "status": ["status", "status_code", "code", "http_status", "http.status_code", "http.response.status_code", "res.statusCode"],
    "user": ["user", "username", "remote_user", "user_name", "user.name"],
    "agent": ["user_agent", "http_user_agent", "agent", "useragent", "user_agent.original", "http.user_agent"],
    "host": ["host", "http_host", "server_name", "hostname", "url.domain"],
    "header.referer": ["referer", "http_referer", "referrer", "http.request.referrer"],
    "header.x-forwarded-for": ["x_forwarded_for", "http_x_forwarded_for", "forwarded_for"],
}
