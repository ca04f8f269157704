"""Limits by the decorators and the middleware of django-smart-ratelimit."""

from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from ratewindow.operations.other_limiters.decorators import Use, uses
from ratewindow.operations.other_limiters.found import Found, Limit, rate_in

_PACKAGE = "django_smart_ratelimit"
_MIDDLEWARE = f"{_PACKAGE}.middleware"
_BY_CODE = ("skip_if", "adaptive", "allow_list", "deny_list")
_KEYS = {None: "ip", f"{_MIDDLEWARE}.default_key_function": "ip", f"{_MIDDLEWARE}.user_key_function": "user_or_ip"}


def find() -> Found:
    found = Found()
    for use in uses(f"{_PACKAGE}.decorator"):
        try:
            found.limits.append(_limit(use))
        except ValueError as error:
            found.leave_out(use.view, str(error))
    if any(str(path).startswith(_MIDDLEWARE) for path in settings.MIDDLEWARE):
        _add_middleware(found, getattr(settings, "RATELIMIT_MIDDLEWARE", {}))
    return found


def _limit(use: Use) -> Limit:
    """The limit of one use; ValueError says why no rule can count the same."""
    arguments = use.arguments
    for name in _BY_CODE:
        if arguments.get(name) is not None:
            raise ValueError(f"it has {name}=, which a rule does not have.")
    cost = arguments.get("cost", 1)
    if callable(cost):
        raise ValueError("a function makes its cost, which a rule cannot call.")
    method, key = arguments.get("method"), _key(arguments.get("key", "ip"))
    methods = sorted({method} if isinstance(method, str) else set(method or use.methods))
    algorithm, windows = str(arguments.get("algorithm") or _settings().default_algorithm or "sliding_window"), {}
    size = (arguments.get("algorithm_config") or {}).get("bucket_size")
    if algorithm in ("token_bucket", "leaky_bucket") and size:
        windows["burst"] = int(size)
    return Limit(
        use.route.label,
        _rate(arguments.get("_rate") or arguments.get("rate"), key, arguments.get("key")),
        key,
        (use.route,),
        fields={**({"methods": ",".join(methods)} if methods else {}), **({"cost": cost} if cost != 1 else {})},
        windows={"algorithm": algorithm, **windows},
        notes=("there all views that count by the same key share its count; here this one counts alone.",),
    )


def _settings() -> Any:
    return import_string(f"{_PACKAGE}.config.get_settings")()


def _rate(rate: Any, *keys: Any) -> str:
    if callable(rate):
        raise ValueError("a function makes its rate, which a rule cannot call. Write a rate, or keep this in code.")
    try:
        return rate_in(rate or _settings().default_limit, import_string(f"{_PACKAGE}.backends.utils.parse_rate"), *keys)
    except Exception as error:  # its own, which it keeps to itself
        raise ValueError(f"its rate {rate!r} cannot be read: {error}.") from None


def _key(key: Any) -> str:
    if callable(key):
        raise ValueError("a function makes its key. Register one of the same kind with @ratekey, and add the rule with that.")
    kind, _, name = str(key).partition(":")
    match kind:
        case "ip":
            return "ip"
        case "user" | "user_or_ip":
            return "user_or_ip"
        case "header" | "get" | "param" if name:
            return f"{'header' if kind == 'header' else 'query'}:{name}"
    return "global"


def _add_middleware(found: Found, options: dict[str, Any]) -> None:
    place = "RATELIMIT_MIDDLEWARE"
    key = _KEYS.get(options.get("KEY_FUNCTION"))
    if key is None:
        found.leave_out(place, "KEY_FUNCTION is a function of your own: register one with @ratekey, and add the rules with that.")
        return
    windows = {"algorithm": str(_settings().default_algorithm or "sliding_window")}
    for path, rate in options.get("RATE_LIMITS", {}).items():
        try:
            limit = Limit(f"middleware{path}", _rate(rate, key), f"{key}+path", place=("prefix", path), windows=windows)
        except ValueError as error:
            found.leave_out(f"{place}[{path!r}]", str(error))
            continue
        found.limits.append(limit)
    try:
        rate = _rate(options.get("DEFAULT_RATE", "100/m"), key)
    except ValueError as error:
        found.leave_out(f"{place}['DEFAULT_RATE']", str(error))
        return
    note = "it also counts what SKIP_PATHS, RATE_LIMITS and static files take out there."
    found.limits.append(Limit("middleware", rate, key, place=("all", ""), windows=windows, notes=(note,)))
