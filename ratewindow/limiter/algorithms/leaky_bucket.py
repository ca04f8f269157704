"""`leaky_bucket`: requests evenly spaced, period / limit apart, with a tolerance of `burst`."""

from ratewindow.limiter.algorithms.base import Algorithm
from ratewindow.limiter.algorithms.meter import Meter, burst
from ratewindow.limiter.problem import translatable

ALGORITHM = Algorithm(
    name="leaky_bucket",
    label=translatable("Leaky bucket"),
    help=translatable(
        "Spaces requests evenly, period / limit apart; burst (1, unless you say otherwise) of them may come "
        "at once. At worst burst + limit - 1 pass in one window."
    ),
    reading=Meter,
    script="meter",
    parameter=burst,
    takes_what_is_left=True,
    default_burst=lambda limit: 1,
)
