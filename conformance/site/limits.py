"""The limited views that cases send requests to: `/NAME/`, and `/async/NAME/`."""

from conformance.adapter import Limit

FEW, TWENTY = Limit(5, 60), Limit(20, 60)
LIMITS = {
    "few": (FEW,),
    "other": (FEW,),
    "twenty": (TWENTY,),
    "roomy": (Limit(1000, 60),),
    "brief": (Limit(5, 2),),
    "wait": (Limit(3, 4),),
    "both": (Limit(4, 2), Limit(8, 60)),
    "both-reversed": (Limit(8, 60), Limit(4, 2)),
}
BY_HEADER = Limit(5, 60, header="X-Api-Key")
