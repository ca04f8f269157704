"""What is raised survives the way to another process."""

import copy
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest
from django.test import RequestFactory

import ratewindow
from ratewindow import Decision, RateLimited, RequestDecision
from ratewindow.limiter.types import RuleDecision
from ratewindow.models import RateRule
from ratewindow.request import visit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def refused() -> RateLimited:
    RateRule.objects.define("mail", "1/m; 5/h", mode="enforce")
    ratewindow.hit("mail", "user:42")
    with pytest.raises(RateLimited) as raised:
        ratewindow.hit("mail", "user:42", raise_exception=True)
    return raised.value


@pytest.mark.parametrize("again", [lambda it: pickle.loads(pickle.dumps(it)), copy.copy, copy.deepcopy])
def test_an_exception_is_the_same_after_it_was_pickled_or_copied(again: Any, refused: RateLimited) -> None:
    refused.add_note("while mail was sent")
    same = again(refused)
    assert type(same) is RateLimited
    assert (same.decision, str(same), same.__notes__) == (refused.decision, str(refused), refused.__notes__)
    assert same.decision.windows[0].window in {answer.window for answer in refused.decision.windows}


def test_so_is_the_decision_of_a_request(rf: RequestFactory, refused: RateLimited) -> None:
    known = visit.begin(request := rf.get("/"))
    known.add(Decision.of([*refused.decision.decisions, RuleDecision(rule="other", remaining=3)]))
    shown = request.ratewindow  # type: ignore[attr-defined]
    assert type(shown) is RequestDecision and not shown and shown.decisions == known.decision.decisions
    assert pickle.loads(pickle.dumps(shown)) == copy.copy(shown) == known.decision


def test_a_window_from_another_process_is_found_among_ours(refused: RateLimited) -> None:
    """Text has another hash in each process."""
    told = pickle.dumps(refused.decision.windows[0].window)
    asked = (
        f"import pickle, sys; from ratewindow.limiter import Window;sys.exit(pickle.loads({told!r}) not in {{Window(1, 60_000)}})"
    )
    found = subprocess.run([sys.executable, "-c", asked], env={**os.environ, "PYTHONHASHSEED": "7"}, check=False)
    assert found.returncode == 0
