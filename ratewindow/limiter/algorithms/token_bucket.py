"""`token_bucket`: a burst at once, then as fast as the bucket is refilled, limit per period."""

from ratewindow.limiter.algorithms.base import Algorithm
from ratewindow.limiter.algorithms.meter import Meter, burst
from ratewindow.limiter.problem import translatable

ALGORITHM = Algorithm(
    name="token_bucket",
    label=translatable("Token bucket"),
    help=translatable(
        "Allows a burst at once (the limit, unless you say otherwise), refilled evenly at limit per period. "
        "At worst burst + limit - 1 pass in one window."
    ),
    reading=Meter,
    script="meter",
    parameter=burst,
    takes_what_is_left=True,
    default_burst=lambda limit: max(1, limit),
)
