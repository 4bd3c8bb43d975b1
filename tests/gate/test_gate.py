"""The gate's parts: what an excerpt shows, what JSON text is parsed, what each kind takes."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citer_core.errors import GateError, InputError
from citer_core.gate.excerpt import clean, excerpt
from citer_core.gate.fields import Choice, Flag, ListOf, MapOf, Maybe, Real, Record, Row, Text, Whole
from citer_core.gate.json_file import read_limited
from citer_core.gate.json_text import parse_json
from tests.hostile import hostile_strings
from tests.own_time import OwnTime

LONG = 12_000_000
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
anything = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "nothing"),
        (True, "true"),
        (12, "12"),
        (-(10**4000), "a number of more than 20 digits"),
        (0.5, "0.5"),
        (float("nan"), "nan"),
        ("Paris", '"Paris"'),
        ('say "no"', "\"say 'no'\""),
        ("a\nb\x1b[31m\u202ec\ud800", '"a\ufffdb\ufffd[31m\ufffdc\ufffd"'),
        (["/etc/passwd"], "a list of 1"),
        ({"path": "/etc/passwd"}, "an object"),
        (object(), "not a JSON value"),
    ],
)
def test_an_excerpt_says_which_value_it_was(value, said):
    assert excerpt(value) == said


@settings(max_examples=40)
@given(anything)
def test_an_excerpt_is_short_on_one_line_and_can_be_written(value):
    said = excerpt(value)
    assert len(said) <= 40 and len(said.splitlines()) == 1
    said.encode()


@pytest.mark.parametrize("text", hostile_strings(80))
def test_an_excerpt_of_hostile_text_turns_nothing_around(text):
    said = excerpt(text)
    assert len(said) <= 40 and said.startswith('"') and said.endswith('"') and said.count('"') == 2
    assert not any(char in said for char in "\x00\x07\x08\t\n\r\x1b\x7f\x85\u2028\u2029\u202e\u2066\u200f\u061c\ufeff")
    assert clean(text) == clean(clean(text))


@settings(max_examples=40)
@given(st.recursive(st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False,
       allow_infinity=False, max_value=1e99, min_value=-1e99) | st.text(), lambda inner: st.lists(inner)
       | st.dictionaries(st.text(), inner), max_leaves=20))  # fmt: skip
def test_all_other_json_reads_as_the_standard_library_reads_it(value):
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        assert parse_json(text, max_chars=10**6) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("1 2", "not JSON"),
        ("[" * 65 + "]" * 65, "more than 64 lists"),
        ('{"a":' * 65 + "1" + "}" * 65, "more than 64 lists"),
        ("[NaN]", "NaN"),
        ("[-Infinity]", "Infinity"),
        ("1e400", "too large"),
        ("[1" + "0" * 5000 + "]", "40 digits"),
        ("0." + "1" * 5000, "40 digits"),
        (b"\xff\xfe", "UTF-8"),
        ({"a": 1}, "not text"),
        (None, "not text"),
        ('"' + "a" * 1000 + '"', "at most 1,000"),
        (b'"' + b"a" * 5000 + b'"', "bytes"),
    ],
)
def test_json_that_is_not_taken(text, says):
    with pytest.raises(GateError, match=says):
        parse_json(text, max_chars=1000 if "1,000" in says or says == "bytes" else 10_000)


def test_brackets_and_digits_inside_texts_do_not_count():
    text = json.dumps(["[" * 1000, "9" * 1000, '\\"[[[', {"{": "1e400"}])
    assert parse_json(text, max_chars=10_000, max_depth=2, max_values=9) == json.loads(text)
    assert parse_json("\ufeff[1]".encode(), max_chars=100) == [1]
    assert parse_json("1e-300", max_chars=100) == 1e-300


def test_many_values_are_refused_before_they_are_built():
    with pytest.raises(GateError, match="more than 1,000,000 values"):
        parse_json("[" + "[]," * 400_000 + "{}," * 700_000 + "0]", max_chars=LONG)


@pytest.mark.parametrize(
    "pattern",
    ["[", '{"a":', "1a", "1" * 40 + "x", '"', '\\"', "\\", "[],", "e", "}", '["', "a"],
    ids=lambda text: text[:6],
)
def test_the_worst_texts_take_no_longer_than_their_length(pattern):
    text = '"' + pattern * (LONG // 8 // len(pattern))
    for start in (0, 1):
        with OwnTime() as spent, pytest.raises(GateError):
            parse_json(text[start:], max_chars=LONG)
        assert spent.seconds < 1.0


TOKEN = Record({"id": Whole(0, 9), "text": Text(5)}, {"forced": Flag()})
RUN = Record(
    {"name": Text(20), "tokens": ListOf(TOKEN, 3), "top": Maybe(Row(Whole(), Text(), Real(0, 1)))},
    {"speeds": MapOf(Real(), 2)},
)


def test_a_record_gives_the_fields_that_it_names():
    document = {"name": "a", "tokens": [{"id": 3.0, "text": "é", "else": 1}], "top": None, "more": {"path": "x"}}
    assert RUN.read(document, "run") == {"name": "a", "tokens": [{"id": 3, "text": "é"}], "top": None}
    assert RUN.read({**document, "top": [1, "x", 1]}, "run")["top"] == (1, "x", 1)
    speeds = RUN.read({**document, "speeds": {"z": 1, "a": 2.5}}, "run")["speeds"]
    assert list(speeds.items()) == [("z", 1), ("a", 2.5)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"name": {"path": "/etc/passwd"}}, "run.name is an object; it must be a text of at most 20 characters."),
        ({"name": "a" * 21}, 'run.name is "aaaaaaaaaaaaaaaaaaaaa"; it must be a text of at most 20'),
        ({"name": "a\ud800"}, "without half characters"),
        ({"tokens": [{"id": 1, "text": "a"}] * 4}, "run.tokens is a list of 4; it must be a list of at most 3"),
        ({"tokens": [{"id": 1, "text": "a"}, {"id": 10, "text": "a"}]}, "run.tokens[1].id is 10; it must be a whole"),
        ({"tokens": [{"id": True, "text": "a"}]}, "run.tokens[0].id is true; it must be a whole number"),
        ({"tokens": [{"id": 1}]}, "run.tokens[0].text is missing; it must be a text of at most 5 characters."),
        ({"tokens": [{"id": 1, "text": "", "forced": 1}]}, "run.tokens[0].forced is 1; it must be true or false."),
        ({"tokens": [[]]}, "run.tokens[0] is a list of 0; it must be an object with id, text."),
        ({"top": 3}, "run.top is 3; it must be a list of 3 entries, or nothing."),
        ({"top": [1, "x", 2]}, "run.top[2] is 2; it must be a number from 0 to 1."),
        ({"speeds": [1]}, "run.speeds is a list of 1; it must be an object with at most 2 short names."),
        ({"speeds": {"a": 1, "b": 1, "c": 1}}, "run.speeds is an object; it must be an object with at most 2 short"),
        ({"speeds": {"a": 1, "/etc/passwd": "fast"}}, 'run.speeds[1] is "fast"; it must be a number from 0 to'),
        ({"speeds": {"a" * 101: 1}}, "run.speeds[0] is \"aaaaaaaaa"),
        ({"speeds": {5: 1}}, "run.speeds[0] is 5; it must be a text of 1 to 100 characters."),
    ],
)  # fmt: skip
def test_a_refusal_says_where_what_and_what_is_allowed(change, says):
    document = {"name": "a", "tokens": [], "top": None}
    with pytest.raises(GateError) as caught:
        RUN.read({**document, **change}, "run")
    assert says in str(caught.value) and isinstance(caught.value, InputError) and "passwd" not in str(caught.value)


def test_a_document_without_a_name_is_named_by_its_fields():
    with pytest.raises(GateError, match=r"^name is missing"):
        RUN.read({}, "")
    with pytest.raises(GateError, match=r"^this document is a list of 0; it must be an object"):
        RUN.read([], "")


@pytest.mark.parametrize("value", [True, "1", None, math.nan, math.inf, -math.inf, 10**400, -1, 2, 1.5, [], {}])
def test_numbers_outside_their_range_or_of_another_kind(value):
    for kind in (Whole(0, 1), Real(0, 1)):
        with pytest.raises(GateError):
            kind.read(value, "x")
    with pytest.raises(GateError):
        Real(0, 1, open_low=True).read(0, "x")
    with pytest.raises(GateError, match=r"0\.5"):
        Whole().read(0.5, "x")


def test_numbers_and_texts_keep_their_form():
    assert repr(Real(0, 1).read(1, "x")) == "1" and repr(Real(0, 1).read(1.0, "x")) == "1.0"
    assert Choice("a", "b").read("b", "x") == "b"
    assert Text(4, min_chars=4, alphabet="01").read("0110", "x") == "0110"
    for bad in ("", "011", "01102", "011x", 110):
        with pytest.raises(GateError, match="4 characters out of 01"):
            Text(4, min_chars=4, alphabet="01").read(bad, "x")
    with pytest.raises(GateError, match='"a" or "b"'):
        Choice("a", "b").read(["a"], "x")


@settings(max_examples=50)
@given(anything)
def test_whatever_comes_a_kind_reads_it_or_raises_a_gate_error(value):
    for kind in (
        RUN,
        TOKEN,
        Text(),
        Whole(),
        Real(),
        Flag(),
        Choice("a"),
        Maybe(Flag()),
        ListOf(Whole(), 3),
        MapOf(Flag(), 3),
    ):
        said = ""
        try:
            kind.read(value, "it")
        except GateError as error:
            said = str(error)
        assert len(said) < 300


def test_a_file_is_read_no_further_than_was_said(tmp_path):
    path = tmp_path / "x.json"
    path.write_bytes(b"12345")
    assert read_limited(path, 5) == b"12345"
    with pytest.raises(GateError, match="more than 4 bytes"):
        read_limited(path, 4)
    with pytest.raises(OSError, match="absent"):
        read_limited(tmp_path / "absent", 4)
