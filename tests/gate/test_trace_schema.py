"""The table of a trace's fields: what Python takes, that the browser's copy is this one, and that both say the same."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from citer_core.assets import ASSETS
from citer_core.cost import MODEL, ModelSpec
from citer_core.errors import CiterError, GateError, SettingError, TraceError
from citer_core.gate.dataclass_kind import record_of
from citer_core.replay import replay
from citer_core.routing import card_js
from citer_core.tasks.prompts import DATA_TYPES
from citer_core.trace import TRACE, AnswerInfo, PairInfo, ParentInfo, PromptInfo, RecordInfo, RouterInfo, RoutingTrace
from citer_core.trace_schema import SETTINGS_TABLE
from citer_core.trace_schema_js import COMPARISON_MODULE, MODULE, comparison_module_text, module_text
from citer_core.types import EVENT, DecodeSettings, FinishReason, Source, TokenEvent
from tests.damaged_traces import N_RANDOM, DamagedTrace, damaged_traces, random_texts, recorded
from tests.own_time import OwnTime
from tests.sampling import few_or_all, sampled

STORED = sorted(path for path in (ASSETS / "traces").glob("*.json") if path.name != "index.json")
DAMAGED = damaged_traces()
ROOT = Path(__file__).parents[2]


def names_of(record: object) -> list[str]:
    return [*record.required, *record.optional]


def test_the_table_names_the_fields_that_there_are_in_their_order():
    inner = {**TRACE.of.required, **TRACE.of.optional}
    made_of = [(MODEL, ModelSpec), (EVENT, TokenEvent), (SETTINGS_TABLE, DecodeSettings), (TRACE.of, RoutingTrace)]
    infos = (AnswerInfo, PairInfo, ParentInfo, PromptInfo, RecordInfo, RouterInfo)
    for record, made in [*made_of, *((record_of(info), info) for info in infos)]:
        assert names_of(record) == [field.name for field in fields(made)]
    assert EVENT.required["source"].names == get_args(Source)
    assert inner["finish_reason"].kind.names == get_args(FinishReason)
    assert record_of(PromptInfo).required["data_type"].names == DATA_TYPES


def test_the_browsers_table_is_this_one():
    for module, text in ((MODULE, module_text()), (COMPARISON_MODULE, comparison_module_text())):
        assert module.read_text(encoding="utf-8") == text, "python -m citer_core.trace_schema_js writes it"
    written = card_js.MODULE.read_text(encoding="utf-8")
    assert written == card_js.module_text(), "python -m citer_core.routing.card_js writes it"


@pytest.mark.parametrize("path", sampled(STORED, every=4), ids=lambda path: path.stem)
def test_every_stored_trace_reads_and_is_written_the_same(path):
    text = path.read_text(encoding="utf-8").removesuffix("\n")
    trace = RoutingTrace.from_json(text)
    once = trace.to_json()
    # Version 1 becomes version 2 on the way.
    assert once == text or '"schema_version":1' in text
    assert RoutingTrace.from_json(once.encode()) == trace and RoutingTrace.from_json(once).to_json() == once


def is_calm(said: str, trace: DamagedTrace) -> bool:
    """Whether a refusal names the field and repeats little."""
    return trace.names is not None and trace.names in said and len(said) < 400 and "passwd" not in said


@pytest.mark.parametrize("trace", DAMAGED, ids=lambda trace: trace.name)
def test_a_damaged_trace_is_refused_calmly_and_in_no_time(trace: DamagedTrace):
    if trace.names is None:
        once = RoutingTrace.from_json(trace.text).to_json()
        assert RoutingTrace.from_json(once).to_json() == once and "path" not in once
        return
    with OwnTime() as spent, pytest.raises(TraceError) as caught:
        RoutingTrace.from_json(trace.text)
    assert spent.seconds < 0.5
    assert is_calm(str(caught.value), trace)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
@pytest.mark.parametrize("n_random", few_or_all(100, N_RANDOM))
def test_both_languages_say_the_same_of_damaged_and_random_traces(n_random: int):
    texts = [trace.text for trace in DAMAGED] + random_texts(n_random)
    done = subprocess.run(
        ["node", "tests/viewer/trace_verdicts.mjs"],
        input=json.dumps(texts), capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    verdicts = json.loads(done.stdout)
    assert len(verdicts) == len(texts)
    for trace, verdict in zip(DAMAGED, verdicts, strict=False):
        assert verdict["refusal"] is None if trace.names is None else is_calm(verdict["refusal"], trace), trace.name
    n_taken = 0
    for text, verdict in zip(texts, verdicts, strict=True):
        try:
            trace, refusal = RoutingTrace.from_json(text), None
        except TraceError as error:
            trace, refusal = None, str(error)
        assert (refusal is None) == (verdict["refusal"] is None), (text[:300], refusal, verdict["refusal"])
        if trace is None or refusal is not None:
            continue
        n_taken += 1
        # What the browser kept is what Python reads, field for field.
        assert RoutingTrace.from_json(verdict["json"]) == trace
    assert 20 < n_taken < len(texts) - 90


def test_a_model_of_texts_is_refused_where_it_is_made():
    whole = {
        field.name: getattr(RoutingTrace.from_dict(recorded()).pair.slm, field.name) for field in fields(ModelSpec)
    }
    assert ModelSpec(**whole)
    for name, value in [("block_bits", "x"), ("n_params", 10**15), ("n_layers", -1), ("tied_embeddings", "no")]:
        with pytest.raises(GateError, match=name):
            ModelSpec(**{**whole, name: value})


@pytest.mark.parametrize("value", [10**400, -(10**400), float("nan"), True, "0.5", None, [0.5], {}])
def test_every_tau_that_is_none_is_a_calm_error(value):
    trace = RoutingTrace.from_dict(recorded())
    with pytest.raises(CiterError, match=r"threshold \(tau\)"):
        replay(trace, value)


def test_seeds_are_bounded_and_say_so():
    assert DecodeSettings(seed=10**15 - 1).seed == 10**15 - 1 and DecodeSettings(seed=-(10**15) + 1)
    for seed in (2**64, 10**15, -(10**15), 10**5000, 1.5, True):
        with pytest.raises(SettingError, match=r"seed is .*15 digits"):
            DecodeSettings(seed=seed)


def test_a_trace_never_echoes_more_than_an_excerpt():
    marker = "SECRET-" * 20
    for name in ("pair", "router", "settings", "prompt", "record", "schema_version", "finish_reason", "events"):
        for value in (marker, {"path": marker}, [marker]):
            with pytest.raises(TraceError) as caught:
                RoutingTrace.from_dict({**recorded(), name: value})
            assert marker not in str(caught.value) and len(str(caught.value)) < 400
