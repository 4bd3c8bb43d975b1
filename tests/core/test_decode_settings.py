"""The one table of decoding settings: what is refused and how, and that everything made of it agrees with it."""

from __future__ import annotations

import json

import pytest

from citer_core.decode_settings import MAX_SETTINGS_CHARS, SETTINGS, DecodeSettings, read_settings
from citer_core.errors import CiterError, SettingError
from citer_core.tasks.datasets import bundled_rows
from citer_core.ui.problems import ProblemBook
from citer_core.ui.run.asked import read_asked

BOOK = ProblemBook({})
ASKED = {"question": "1 + 1?", "data_type": "math", "router": "citer", "settings": {"threshold": 0.5, "seed": 3}}


def test_what_is_not_named_has_its_default():
    assert DecodeSettings(**read_settings(None)) == DecodeSettings(**read_settings("")) == DecodeSettings()
    given = {"top_p": 0.9, "max_new_tokens": 7.0}
    for form in (given, json.dumps(given)):
        assert DecodeSettings(**read_settings(form)) == DecodeSettings(max_new_tokens=7, top_p=0.9)
    # As documents have held them from the start, in this order.
    assert list(DecodeSettings().to_dict().items()) == [
        ("threshold", 0.7), ("max_new_tokens", 256), ("temperature", 0.0), ("top_p", 1.0), ("seed", 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ({"topp": 1}, ['no setting "topp"', "threshold, max_new_tokens, temperature, top_p, seed"]),
        ([0.7], ["settings is a list of 1", "an object that may hold threshold", '{"threshold": 0.7}']),
        ("{threshold: 1}", ["not JSON", '{"threshold": 0.7}']),
        ("secret " * MAX_SETTINGS_CHARS, ["characters", "2,000"]),
        ({"threshold": 1.5}, ["threshold (tau) is 1.5", "from 0 to 1", "0 gives every token to the SLM"]),
        ({"temperature": "secret " * 1000}, ['temperature is "secret', "from 0 to 2"]),
    ],
)
def test_what_is_wrong_is_said_with_what_is_allowed_and_not_printed_back(given, parts):
    with pytest.raises(SettingError) as caught:
        DecodeSettings(**read_settings(given))
    said = str(caught.value)
    assert all(part in said for part in parts), said
    assert len(said) < 300 and said.count("secret") < 8


def test_a_request_of_the_page_is_read():
    asked = read_asked(BOOK, json.dumps(ASKED))
    assert (asked.problem.question, asked.router) == ("1 + 1?", "citer")
    assert asked.settings == DecodeSettings(0.5, seed=3)
    assert read_asked(BOOK, json.dumps({**ASKED, "router": None, "settings": {}})).settings == DecodeSettings()


MC = "Which?\nA. one\nB. two"


def test_an_expected_answer_is_what_a_run_is_judged_by():
    def expected(**given):
        return read_asked(BOOK, json.dumps({**ASKED, **given})).problem.true_answer

    assert expected() is None and expected(true_answer=" ") is None
    assert expected(true_answer=" 2 ") == "2" and expected(true_answer=r"\boxed{2}") == "2"
    assert [expected(question=MC, data_type="mc", true_answer=text) for text in ("b", "(A)", "Two")] == ["B", "A", "B"]
    bundled = bundled_rows("math")[0].problem
    book = ProblemBook.bundled()
    assert book.problem(bundled.question, "math").true_answer == bundled.true_answer
    assert book.problem(bundled.question, "math", "another").true_answer == "another"


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (None, "is nothing, not text"),
        (json.dumps({**ASKED, "threshold": 1}), 'asked with "threshold": the request may hold question'),
        (json.dumps({**ASKED, "question": "x" * 100_000}), "100,000 characters"),
        (json.dumps({**ASKED, "question": MC, "data_type": "mc", "true_answer": "D"}), "is not one of the choices"),
        ("x" * 2_000_000, "1,000,000"),
    ],
)
def test_a_wrong_request_is_one_message(text, part):
    with pytest.raises(CiterError) as caught:
        read_asked(BOOK, text)
    assert part in str(caught.value) and len(str(caught.value)) < 300


def test_the_table_holds_together():
    keys = [row.link or name for name, row in SETTINGS.items()]
    assert len({*keys, "preset", "q", "type", "router", "tau", "tok"}) == len(keys) + 6
    for name, row in SETTINGS.items():
        for value in (row.default, row.lowest, row.kind.high):
            assert row.kind.read(value, name) == value
        assert row.label and row.about and row.hint.endswith(".")
        assert getattr(DecodeSettings(), name) == row.default
