"""What is wrong with a value: English text, and the parts to translate it by."""

import pickle

from ratewindow.limiter.problem import Problem


def test_its_text_is_complete_and_its_parts_are_kept_apart() -> None:
    problem = Problem("{text!r} has {number:,} {{braces}}", text="a\u202eb", number=1200)
    assert str(problem) == "'a\\u202eb' has 1,200 {braces}"
    assert problem.values == {"text": "a\u202eb", "number": 1200}
    assert isinstance(problem, ValueError)


def test_braces_in_a_value_mean_nothing() -> None:
    assert str(Problem("{text} is wrong", text="{text.__class__}")) == "{text.__class__} is wrong"


def test_it_crosses_processes() -> None:
    problem = pickle.loads(pickle.dumps(Problem("{text} is wrong", text="x")))
    assert (str(problem), problem.values) == ("x is wrong", {"text": "x"})
