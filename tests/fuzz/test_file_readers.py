"""Every reader of files, given damaged ones: whatever is in them, it reads them or says calmly why not.

One entry per reader: the file that is damaged, and what reads it. A few examples run with every test; `FUZZ_EXAMPLES`
asks for more (`make fuzz`).
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from citer_core.assets import ASSETS
from citer_core.config import cache_folder
from citer_core.errors import CiterError
from citer_core.gate.excerpt import clean
from citer_core.labelling.label_files import LabelSettings, label_dataset, load_label_folders, merge_labels
from citer_core.labelling.rollouts import Policy
from citer_core.measuring.profile_numbers import read_profile
from citer_core.measuring.report.folder import ReportFolder
from citer_core.measuring.report.stored import stored_reports
from citer_core.models.checkpoint import eos_ids_of, load_model, load_tokenizer
from citer_core.models.download import _noted_commit
from citer_core.models.gguf_conversion import convert
from citer_core.models.hashes import check_files
from citer_core.models.pair import ModelPair
from citer_core.models.revision import weights_revision
from citer_core.models.store import is_whole
from citer_core.recording import read_plans, read_probe
from citer_core.routing.catalog import load_router, load_routers
from citer_core.routing.routers.citer import CiterMLP, CiterRouter
from citer_core.row_file import RowFile
from citer_core.tasks.datasets import validate_rows
from citer_core.training.iterate import _read
from citer_core.training.run_folder import open_work_dir
from citer_core.ui.about_pair import how_well
from citer_core.ui.presets import read_presets, recorded_problems
from citer_core.ui.problems import _samples
from citer_core.ui.profile import profile_message
from tests.core.conftest import tiny_llama, tiny_qwen2
from tests.core.examples import ROWS
from tests.core.test_gguf import write_gguf
from tests.mutations import any_json, changed, spoiled
from tests.sampling import few_or_all

LONGEST_S = 2.0
QUICK = 60


@dataclass(frozen=True)
class Reader:
    """One file that is read: which, by what, and how many examples are quick enough for every test run."""

    file: str
    read: Callable[[Path], object]
    quick: int = QUICK
    lines: bool = False


@pytest.fixture(scope="session")
def originals(tmp_path_factory) -> Path:
    """Whole files of every kind, made by what writes them; never changed."""
    folder = tmp_path_factory.mktemp("originals")
    tokenizer = load_tokenizer(ASSETS / "models" / "tokenizer")
    pair = ModelPair.assemble("tiny", tiny_qwen2(1), tiny_llama(2), tokenizer)
    tiny_qwen2(1).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    write_gguf(folder / "tiny.gguf", tiny_qwen2(1))
    card = {
        "name": "citer", "label": "CITER", "hidden_size": pair.hidden_size, "pair_revision": pair.info.revision,
        "recommended_threshold": 0.5, "training": {"confidence_quantiles": [0.1, 0.2, 0.9], "auc": 0.9},
    }  # fmt: skip
    torch.manual_seed(0)
    CiterRouter(CiterMLP(pair.hidden_size), card).save(folder / "routers")
    list(
        label_dataset(
            pair, ROWS[:3], folder / "labels", LabelSettings(Policy.slm_alone(max_new_tokens=2), n_rollouts=1)
        )
    )
    shutil.copytree(folder / "routers", folder / "plain")
    card_path = folder / "plain" / "citer.json"
    old = {name: value for name, value in json.loads(card_path.read_text()).items() if name != "weights_sha256"}
    card_path.write_text(json.dumps(old))
    (folder / "one").mkdir()
    tensors = load_file(folder / "plain" / "citer.safetensors")
    save_file(tensors, folder / "one" / "citer.safetensors", metadata={"card": json.dumps(old)})
    _small_assets(folder)
    pairs["tiny"] = pair
    return folder


pairs: dict[str, ModelPair] = {}


def _small_report(folder: Path, profile: dict[str, object]) -> None:
    report = ReportFolder(folder, {"hardware": "a GPU", "torch": "1", "transformers": "2"})
    alone = {"tokens_per_s": 10.0, "bandwidth_share": 0.5}
    routed = {"tokens_per_s": 9.0, "llm_share": 0.2, "bandwidth_share": 0.4, "outside_share": 0.01, "attained": 0.9}
    runs = {"pair": "tiny", "path": "graphs", "slm_alone": alone, "llm_alone": alone, "routed": [routed]}
    report.store("device", "facts", {}, 0.0)
    report.store("speed", "runs", runs, 0.0)
    report.store("profile", "bundled", {"profile": profile}, 0.0)
    (found,) = stored_reports(folder.parent)
    assert len(found.sentences()) == len(found.profiles()) == 1


def _small_assets(folder: Path) -> None:
    shutil.copytree(ASSETS / "models", folder / "bundled")
    index = json.loads((ASSETS / "traces" / "index.json").read_text(encoding="utf-8"))[:3]
    (folder / "index.json").write_text(json.dumps(index), encoding="utf-8")
    probe = json.loads((ASSETS / "traces" / "probes" / index[0]["file"]).read_text(encoding="utf-8"))[:4]
    (folder / "probes").mkdir()
    (folder / "probes" / "run.json").write_text(json.dumps(probe), encoding="utf-8")
    shutil.copy(ASSETS / "benchmarks" / "profile.json", folder)
    _small_report(folder / "a-gpu", json.loads((folder / "profile.json").read_text(encoding="utf-8")))
    for source, target in (("recorded-qwen", "plans"), ("math", "math"), ("mc", "mc")):
        lines = (ASSETS / "datasets" / f"{source}.jsonl").read_bytes().splitlines(keepends=True)[:3]
        (folder / f"{target}.jsonl").write_bytes(b"".join(lines))
    report = {
        "round": 1, "router_revision": "r", "measured_on": "m", "threshold": 0.5, "validation_loss": 0.1, "auc": None,
        "auc_max_probability": 0.5, "ece": 0.1, "n_case_3": 1, "n_rolled_out": 1, "n_case_3_prefer_slm": 1,
        "n_label_flips": None,
        "points": {"math": {"accuracy": {"share": 1.0}, "llm_token_share": 0.1, "bytes_share": 1.1}},
    }  # fmt: skip
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "commit.json").write_text('{"repository": "a/b", "commit": "abc"}')
    (folder / "work").mkdir()
    (folder / "work" / "run.json").write_text('{"schema_version": 1, "model_revision": "a.b", "seed": 1}')
    (folder / "sharded").mkdir()
    (folder / "sharded" / "model.safetensors.index.json").write_text('{"weight_map": {"a": "b.safetensors"}}')
    for name in ("config.json", "tokenizer.json"):
        (folder / "sharded" / name).write_text("{}")
    (folder / "rows.jsonl").write_text('{"id": "a", "n": 1}\n{"id": "b", "n": 2}\n')
    meta = {
        "schema": "citer-route-output",
        "schema_version": 1,
        "settings": {"tau": 1},
        "loaded": {"pair_revision": "a-b"},
    }
    (folder / "rows.jsonl.meta.json").write_text(json.dumps(meta))


def _routers(folder: Path) -> None:
    """One damaged router must not take the engine with it; what loads must score, and be described."""
    routers, problems = load_routers(pairs["tiny"], folder / "routers")
    assert all(str(problem) for problem in problems)
    for router in routers.values():
        assert 0.0 <= router.default_threshold <= 1.0
        assert isinstance(router.label, str)


def _plain_routers(folder: Path) -> None:
    load_routers(pairs["tiny"], folder / "plain")


def _router_in_one_file(folder: Path) -> None:
    load_router(folder / "one" / "citer.safetensors", pairs["tiny"])


def _labels(folder: Path) -> None:
    headers, labels, rows = load_label_folders([folder / "labels"])
    assert len(rows) == headers[0].n_rows and len(labels.take(torch.tensor([0]))) == 1
    labels.features(torch.tensor([0]))
    merge_labels([folder / "labels"], folder / "merged")


def _model(folder: Path) -> None:
    model = load_model(folder / "model", "cpu", torch.float32)
    weights_revision(model)
    eos_ids_of(load_tokenizer(ASSETS / "models" / "tokenizer"), model)


def _gguf(folder: Path) -> None:
    shutil.rmtree(cache_folder(), ignore_errors=True)
    convert(folder / "tiny.gguf", "float32")


def _page_index(folder: Path) -> None:
    recorded_problems(read_presets(folder))


def _row_file(folder: Path) -> None:
    with RowFile(folder / "rows.jsonl", {"tau": 1}) as file:
        file.bind({"pair_revision": "a-b"})


def _work_dir(folder: Path) -> None:
    open_work_dir(folder / "work", {"model_revision": "a.b", "seed": 1})


def _bundled(folder: Path) -> None:
    for which in ("slm", "llm", "tokenizer"):
        check_files(folder / "bundled" / which)


def _report_runs(folder: Path) -> None:
    for report in stored_reports(folder):
        report.sentences()


def _report_profiles(folder: Path) -> None:
    for report in stored_reports(folder):
        for profile in report.profiles().values():
            profile_message(profile, "recorded")


READERS = {
    "router card": Reader("routers/citer.json", _routers),
    "router weights": Reader("routers/citer.safetensors", _routers),
    "router weights without a hash": Reader("plain/citer.safetensors", _plain_routers),
    "router in one file": Reader("one/citer.safetensors", _router_in_one_file),
    "label header": Reader("labels/labels.json", _labels),
    "label rows": Reader("labels/part-000000.jsonl", _labels, lines=True),
    "label tensors": Reader("labels/part-000000.safetensors", _labels),
    "plans": Reader("plans.jsonl", lambda folder: read_plans(folder / "plans.jsonl"), lines=True),
    "index": Reader("index.json", _page_index),
    "probe": Reader("probes/run.json", lambda folder: read_probe(folder, "run.json")),
    "profile": Reader("profile.json", lambda folder: profile_message(read_profile(folder / "profile.json"), "live")),
    "report's runs": Reader("a-gpu/speed.json", _report_runs),
    "report's profiles": Reader("a-gpu/profile.json", _report_profiles),
    "math rows": Reader("math.jsonl", lambda folder: validate_rows(folder / "math.jsonl", "math"), lines=True),
    "mc rows": Reader("mc.jsonl", lambda folder: validate_rows(folder / "mc.jsonl", "mc"), lines=True),
    "ordinary questions": Reader("plans.jsonl", lambda folder: _samples(folder / "plans.jsonl"), lines=True),
    "pair card": Reader("bundled/card.json", _bundled),
    "pair card on the page": Reader("bundled/card.json", lambda folder: how_well(folder / "bundled" / "card.json")),
    "model config": Reader("model/config.json", _model, 25),
    "generation config": Reader("model/generation_config.json", _model, 10),
    "model weights": Reader("model/model.safetensors", _model, 15),
    "GGUF file": Reader("tiny.gguf", _gguf, 10),
    "tokenizer": Reader("model/tokenizer.json", lambda folder: load_tokenizer(folder / "model"), 15),
    "tokenizer config": Reader("model/tokenizer_config.json", lambda folder: load_tokenizer(folder / "model"), 10),
    "shard index": Reader("sharded/model.safetensors.index.json", lambda folder: is_whole(folder / "sharded")),
    "round report": Reader("report.json", lambda folder: _read(folder / "report.json")),
    "commit note": Reader("commit.json", lambda folder: _noted_commit(folder / "commit.json")),
    "training note": Reader("work/run.json", _work_dir),
    "finished rows": Reader("rows.jsonl", _row_file, lines=True),
    "rows' settings": Reader("rows.jsonl.meta.json", _row_file),
}  # fmt: skip


def damaged(content: bytes, *, lines: bool) -> st.SearchStrategy[bytes]:
    """A file with places spoiled or, where it is JSON, with one or two values of it or of its first line exchanged."""
    first, rest = content.split(b"\n", 1) if lines else (content, b"")
    try:
        document = json.loads(first)
    except ValueError:
        document = None

    def made(seed: int) -> bytes:
        chance = random.Random(seed)
        if document is None or chance.random() < 0.5:
            return spoiled(content, chance)
        value = any_json(chance) if chance.random() < 0.1 else changed(document, chance, chance.choice((1, 1, 2)))
        # Written as Python writes it, NaN and lone surrogates included: others write those too.
        line = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode("utf-8", "surrogatepass")
        return line + b"\n" + rest if lines else line

    return st.integers(0, 2**48).map(made)


@pytest.mark.filterwarnings("ignore")  # transformers warns of fields in every way that there is
@pytest.mark.parametrize("part", few_or_all(6, 1))
@pytest.mark.parametrize("name", READERS)
def test_a_damaged_file_is_read_or_refused_calmly(originals, tmp_path, monkeypatch, record_property, name, part):
    monkeypatch.setenv("CITER_CACHE", str(tmp_path / "cache"))
    reader = READERS[name]
    wanted = int(os.environ.get("FUZZ_EXAMPLES", "0")) or reader.quick // part
    if wanted > reader.quick < QUICK:
        wanted = max(reader.quick, wanted // 10)  # a model is built for each: an hour is for all readers
    counts = {"taken": 0, "refused": 0}
    folder = tmp_path / "copy"
    shutil.copytree(originals, folder, copy_function=os.link)
    target = folder / reader.file
    content = target.read_bytes()
    reader.read(folder)  # whole files are read: else this test would find nothing

    @settings(
        max_examples=wanted, deadline=None, derandomize="FUZZ_EXAMPLES" not in os.environ, database=None,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate],  # a damaged file is as telling as a short one
    )  # fmt: skip
    @given(damaged(content, lines=reader.lines))
    def check(data: bytes) -> None:
        target.unlink(missing_ok=True)  # a link: the original stays
        target.write_bytes(data)
        start = time.process_time()  # other programs may have the core
        try:
            reader.read(folder)
            said = ""
        except CiterError as error:
            said = str(error)
        assert time.process_time() - start < LONGEST_S
        assert len(said) < 1500, "a message that a person can read"
        assert clean(said.replace("\n", " ")) == said.replace("\n", " ")
        counts["refused" if said else "taken"] += 1

    check()
    record_property("fuzz", f"{counts['taken']:,} taken, {counts['refused']:,} refused, 0 uncaught")
