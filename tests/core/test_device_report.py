"""The device report on a processor: what it writes, what a cut leaves, and that a wrong token is called wrong."""

from __future__ import annotations

import ast
import dataclasses
import json
import sys
import warnings
from pathlib import Path

import pytest
import torch

from citer_core.assets import ASSETS
from citer_core.cli.main import main
from citer_core.cost import LLAMA31_8B
from citer_core.errors import MachineError, SettingError
from citer_core.measuring import script_router
from citer_core.measuring.profile_numbers import ProfilePlan, read_profile
from citer_core.measuring.report import bench, correctness, device, shapes, steps
from citer_core.measuring.report.bench import Bench, Case, Turn, paths_for
from citer_core.measuring.report.folder import ReportFolder, code_hash
from citer_core.measuring.report.steps import Step, run_steps, steps_of
from citer_core.measuring.report.stored import PARTS, problems, read_report, stored_reports
from citer_core.models.mailbox import Mailbox
from citer_core.routing.router import RouterFeatures
from citer_core.routing.routers.training_free import AlwaysSLMRouter
from citer_core.ui.profile import FIRST, RecordedProfiles

ROOT = Path(__file__).parents[2]
SMALLEST = dataclasses.replace(
    shapes.tiny_plan(),
    shapes=shapes.TINY_SHAPES[:1],
    n_prompts=2,
    n_checked=4,
    n_rounds=1,
    contexts=(16, 32),
    n_prompt=8,
    n_written=10,
    batches=(1, 2),
    n_at_once=(2,),
    copy_bytes=1 << 16,
    matrix=16,
    profile=ProfilePlan((1, 4), (16, 32), 1, n_problems=1, n_prompt=4, n_written=6, n_runs=1),
)
ENDLESS = Turn(float("inf"))
BARE = {"torch", "transformers", "tokenizers", "safetensors", "numpy", "huggingface_hub", "tqdm"}
ABOUT = {"hardware": "a device", "torch": "1", "transformers": "2"}


def small_numbers(patch):
    """Copies and clocks of a moment; what they give is not what is tested."""
    patch.setattr(shapes, "tiny_plan", lambda: SMALLEST)
    patch.setattr("citer_core.measuring.device_probe.MIB", 2**12)
    patch.setattr("citer_core.measuring.report.device.SIZES", (2**12,))
    for module in ("bench", "device"):  # a collection of all that the tests have made takes half a second, each time
        patch.setattr(f"citer_core.measuring.report.{module}.give_back", lambda: None)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The whole command once: its exit code, its output and its folder."""
    folder = tmp_path_factory.mktemp("device") / "report"
    with pytest.MonkeyPatch.context() as patch:
        small_numbers(patch)
        said = []
        patch.setattr(sys.stdout, "write", said.append)
        code = main(["device-report", "--output-dir", str(folder), "--device", "cpu", "--minutes", "30"])
    return code, "".join(said), folder


def test_every_part_is_there_and_says_where_it_comes_from(written):
    code, said, folder = written
    assert code == 0 and "PROBLEM" not in said
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{part}.json" for part in PARTS)
    results = read_report(folder)
    with pytest.MonkeyPatch.context() as patch:
        small_numbers(patch)
        asked = {(step.part, step.name) for step in steps_of(Bench("cpu", SMALLEST), "")}
    assert {(part, name) for part, named in results.items() for name in named} == asked and len(asked) == 18
    for result in (result for named in results.values() for result in named.values()):
        about = result["about"]
        assert (about["torch"], about["device"]) == (torch.__version__, "cpu") and about["code"].endswith(code_hash())
        assert about["date"].startswith("20") and "device-report" in about["command"] and result["seconds"] >= 0
    compared = results["correctness"]["tokens, graphs"]["compared"]
    assert set(compared) == {"slm", "llm", "script"} and all(t["n_equal"] == 2 for t in compared.values())
    assert results["correctness"]["tokens, graphs"]["is_replayed"] == [True, True]
    assert "no graph" in results["correctness"]["tokens, graphs"]["note"]
    assert [row["waits_per_token"] for row in results["waits"]["waits"]["rows"]] == [None] * 6  # nothing to wait for


def test_shares_follow_from_bytes_and_times(written):
    results = read_report(written[2])
    shape = SMALLEST.shapes[0]
    found = results["speed"]["tiny: passes, eager"]
    for which, spec in (("slm", shape.slm), ("llm", dataclasses.replace(shape.llm, bytes_per_element=4))):
        spec = dataclasses.replace(spec, bytes_per_element=4)
        assert {(row["n_new"], row["n_cached"]) for row in found[which]["passes"]} == {
            (new, cached) for new in (1, 4) for cached in (16, 32)
        }
        for row in found[which]["passes"]:
            seconds = row["ms"] / 1000
            n_bytes = spec.weight_bytes + spec.kv_bytes_per_token * (row["n_new"] + row["n_cached"])
            assert row["bandwidth_share"] == pytest.approx(n_bytes / seconds / found["copy_bytes_per_s"])
    runs = results["speed"]["tiny: runs, eager"]
    assert [row["llm_share"] for row in runs["routed"]] == [0.0, 0.3, 1.0]
    for row in runs["routed"]:
        assert row["speedup_over_llm"] == pytest.approx(row["tokens_per_s"] / runs["llm_alone"]["tokens_per_s"])
        assert row["attained"] == pytest.approx(row["speedup_over_llm"] / row["speedup_by_bytes"])
    assert runs["routed"][2]["speedup_by_bytes"] < 1 < runs["routed"][0]["speedup_by_bytes"]
    batch = results["batches"]["batches"]["rows"]
    assert [row["batch_size"] for row in batch] == [1, 2] and batch[1]["n_tokens"] == 20
    assert results["runs"]["at once, eager"]["rows"][0]["same_tokens_as_batch"]


def steps_with(*works):
    return [Step("speed", f"step {number}", 1, work) for number, work in enumerate(works)]


def test_a_cut_leaves_what_was_done_and_a_failure_stops_nothing(tmp_path):
    def fails(_turn):
        raise ValueError("no such\nkernel")

    def is_cut(_turn):
        raise KeyboardInterrupt

    first = ReportFolder(tmp_path, ABOUT)
    with pytest.raises(KeyboardInterrupt):
        list(run_steps(first, steps_with(lambda _: {"a": 1}, fails, lambda _: {"a": 3}, is_cut), 60))
    results = read_report(tmp_path)["speed"]
    assert [results[name].get("a") for name in results] == [1, None, 3]
    assert results["step 1"]["error"] == "ValueError: no such" and problems({"speed": results}) != []
    again = ReportFolder(tmp_path, ABOUT)
    told = list(run_steps(again, steps_with(*[lambda _: {"a": 9}] * 4), 60))
    assert [one.outcome for one in told] == ["kept", "kept", "begun", "done", "begun", "done"]
    assert [one.step.name for one in told if one.outcome == "done"] == ["step 3", "step 1"], "what failed comes last"
    assert [result["a"] for result in read_report(tmp_path)["speed"].values()] == [1, 9, 3, 9]


def test_a_device_that_refuses_all_work_ends_the_call_with_a_sentence(tmp_path, monkeypatch):
    """As after a misaligned address: every later call of CUDA fails, also the one that gives memory back."""

    def lost(*_):
        raise torch.AcceleratorError("CUDA error: misaligned address")

    monkeypatch.setattr(steps, "give_back", lost)
    with pytest.raises(MachineError, match="give the same command again"):
        list(run_steps(ReportFolder(tmp_path, ABOUT), steps_with(lost, lambda _: {"a": 2}), 60))
    monkeypatch.undo()
    told = list(run_steps(ReportFolder(tmp_path, ABOUT), steps_with(lost, lambda _: {"a": 2}), 60))
    assert [one.outcome for one in told] == ["begun", "done", "begun", "failed"]


def test_without_time_the_last_are_dropped_and_nothing_is_written_of_them(tmp_path):
    told = list(run_steps(ReportFolder(tmp_path, ABOUT), steps_with(lambda _: {}, lambda _: {}), 0))
    assert [one.outcome for one in told] == ["dropped", "dropped"] and list(tmp_path.iterdir()) == []


def test_time_goes_by_weight_and_what_is_left_over_to_those_that_follow(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(bench.time, "monotonic", lambda: now[0])
    whole = Turn(100)
    turn = whole.part(3 / 5)
    now[0] = 59.0
    assert not turn.is_over()
    now[0] = 60.0
    assert turn.is_over()
    now[0] = 20.0  # it took less
    assert whole.part(1 / 2).ends == pytest.approx(60.0)
    now[0] = 100.0
    assert whole.is_over()


def test_a_folder_of_another_device_or_of_something_else_is_refused(tmp_path):
    ReportFolder(tmp_path, ABOUT).store("speed", "one", {}, 0.0)
    with pytest.raises(SettingError, match="other hardware than this"):
        ReportFolder(tmp_path, ABOUT | {"hardware": "another"})
    (tmp_path / "speed.json").write_text('{"schema": "other"}', encoding="utf-8")
    with pytest.raises(SettingError, match="not a part of a device report"):
        ReportFolder(tmp_path, ABOUT)
    (tmp_path / "speed.json").write_text("{", encoding="utf-8")
    with pytest.raises(SettingError, match="cannot be read"):
        ReportFolder(tmp_path, ABOUT)


@pytest.mark.parametrize(("arguments", "words"), [(["--minutes", "0"], "--minutes is 0"), (["--device", "x"], "cpu")])
def test_wrong_arguments_are_said_before_anything_is_measured(arguments, words, tmp_path, capsys):
    assert main(["device-report", "--output-dir", str(tmp_path / "out"), *arguments]) == 2
    assert words in capsys.readouterr().err and not (tmp_path / "out").exists()


def test_a_wrong_token_is_called_wrong(monkeypatch):
    """A tie is no error, a token that the writer would not have chosen is one."""
    real = correctness.decode

    def off_by_one(pair, router, prompt, settings):
        for event in real(pair, router, prompt, settings):
            wrong = event.index == 3
            yield dataclasses.replace(event, token_id=(event.token_id + 1) % pair.vocab_size) if wrong else event

    monkeypatch.setattr(correctness, "decode", off_by_one)
    found = correctness.check_tokens(Case(Bench("cpu", SMALLEST), path=paths_for("cpu")[0]), ENDLESS)
    assert not found["is_right"]
    assert all(tally["n_wrong"] == 2 for tally in found["compared"].values())
    assert problems({"correctness": {"tokens": found}}) == ["correctness, tokens: tokens are wrong"]


def test_shapes_have_the_parameters_that_are_published():
    """Real models of transformers, made without memory; the widths of the inner layers are the vendors'."""
    assert shapes.intermediate_size(LLAMA31_8B, biased=False) == 14336
    assert shapes.intermediate_size(shapes.QWEN25_32B, biased=True) == 27648
    assert shapes.intermediate_size(shapes.QWEN25_14B, biased=True) == 13824
    for pair in (*shapes.real_shapes(10**12, "bfloat16"), *shapes.TINY_SHAPES):
        for spec in (pair.slm, pair.llm):
            model = shapes.random_model(spec, "meta", "bfloat16")
            assert sum(parameter.numel() for parameter in model.parameters()) == spec.n_params
    names = {gib: [pair.name for pair in shapes.real_shapes(gib * 2**30, "bfloat16")] for gib in (16, 23, 78, 139)}
    assert names[16] == [] and names[23] == ["qwen2-1.5b-7b", "qwen2.5-0.5b-7b"]
    assert names[78][2:] == ["llama3.1-8b-14b", "qwen2-1.5b-32b"]
    assert names[139][2:] == ["llama3.1-8b-32b", "qwen2-1.5b-32b"]


def test_scripts_are_spread_as_recorded_and_keep_their_share():
    script = script_router.recorded_script(0.25, 8, [0.9, 0.1, 0.8, 0.3])
    assert script == [1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    for share in shapes.SHARES:
        assert script_router.recorded_script(share, 96).count(0.0) == round(96 * share)
    catch_ups = [
        len(run) for run in "".join("L" if c < 0.5 else "s" for c in script_router.recorded_script(0.2, 96)).split("L")
    ]
    assert len(set(catch_ups)) > 3, "evenly spread is what a recorded run is not"
    router = script_router.ScriptRouter(AlwaysSLMRouter(), (0.0, 1.0, 1.0), torch.device("cpu"))
    states = torch.zeros(4, 2)
    features = RouterFeatures(states, states, sequence_key=torch.full((4,), 4), position=torch.arange(4))
    assert router.confidence(features).tolist() == [1.0, 1.0, 0.0, 1.0]


def test_waits_are_counted_by_the_line_that_waits(monkeypatch):
    modes = []
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    with device.counted(is_gpu=True) as places:
        for _ in range(3):
            warnings.warn("called a synchronizing CUDA operation", stacklevel=1)
        warnings.warn("something else", stacklevel=1)
    assert modes == ["warn", 0]
    ((place, n_waits),) = places.items()
    assert n_waits == 3 and place.startswith("tests/core/test_device_report.py:")
    with device.counted(is_gpu=True) as places:
        mailbox = Mailbox(torch.device("cpu"), 1, 1)
        mailbox.read()
        mailbox.read()
    assert dict(places) == {"citer_core/models/mailbox.py": 2}  # torch knows nothing of them


def test_a_stored_report_names_its_device_and_offers_its_profiles(written, tmp_path):
    profile = ASSETS / "benchmarks" / "profile.json"
    (tmp_path / "profile.json").write_text(profile.read_text(encoding="utf-8"), encoding="utf-8")
    before = RecordedProfiles(tmp_path)
    assert before.choices() == [FIRST]
    assert [report.hardware for report in stored_reports(ASSETS / "benchmarks")] == ["NVIDIA H200"]
    folder = tmp_path / "a-gpu"
    folder.mkdir()
    for part in PARTS:
        document = json.loads((written[2] / f"{part}.json").read_text(encoding="utf-8"))
        for result in document["results"].values():
            result["about"] |= {"hardware": "A GPU", "date": "2030-01-02T00:00:00+00:00"}
            for which in ("slm", "llm") if part == "profile" else ():
                # Fitted to four passes of a moment, which on a busy machine may say that a pass takes no time.
                result["profile"][which]["fit"] = {"fixed_s": 1e-3, "per_token_s": 1e-4, "per_context_s": 0, "error": 0}
            for row in result["profile"]["check"] if part == "profile" else ():
                row["measured_of_llm_alone"] = 0.5 + (row["llm_share"] or 0)  # or that routing never saves any
        (folder / f"{part}.json").write_text(json.dumps(document), encoding="utf-8")
    stored = RecordedProfiles(tmp_path)
    first, *others = stored.choices()
    assert first == FIRST and sorted(others) == [
        "Bundled pair, float32 on A GPU, 2030-01-02",
        "tiny, float32 on A GPU, 2030-01-02",
    ]
    runs = read_report(folder)["speed"]
    near = [(row, run) for run in runs.values() for row in run.get("routed", []) if row["asked_share"] == 0.3]
    _, fastest = max(near, key=lambda both: both[0]["tokens_per_s"])  # of the share that is nearest to the goal's
    shown = stored.message(FIRST)["profile"]
    assert shown["pair"] == read_profile(profile).pair
    (named,) = [sentence for sentence in shown["sentences"] if "A GPU" in sentence]
    assert f"the LLM alone {fastest['llm_alone']['bandwidth_share']:.0%}" in named
    chosen = stored.message("tiny, float32 on A GPU, 2030-01-02")["profile"]
    assert chosen["pair"] == "tiny" and named in chosen["sentences"] and "random" in chosen["headline"]
    assert stored.message("of nobody")["profile"]["pair"] == shown["pair"]
    (folder / "speed.json").write_text("[]", encoding="utf-8")
    assert RecordedProfiles(tmp_path).choices() == [FIRST]


def imports_of(path, *, inner):
    """Top-level names and full names that a file imports; those inside functions only where `inner`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if inner else tree.body
    found = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def needs(*asked):
    """Modules of ours that the named ones lead to, and the packages of others."""
    asked, seen, others = list(asked), set(), set()
    while asked:
        name = asked.pop()
        path = ROOT / Path(*name.split("."))
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        if name in seen or not path.exists():
            continue
        seen.add(name)
        of_the_kit = "measuring.report" in name or name.endswith("device_report")
        for found in imports_of(path, inner=of_the_kit):
            if found.split(".")[0] in ("citer_core", "tests"):
                asked.append(found)
            elif found.split(".")[0] not in sys.stdlib_module_names:
                others.add(found.split(".")[0])
    return seen, others


def test_the_kit_needs_no_more_than_a_bare_machine_has():
    """Torch, transformers and what they bring: what is imported on the way to and in the report, all of it followed."""
    seen, others = needs("citer_core.cli.main", "citer_core.cli.device_report")
    assert "citer_core.measuring.report.steps" in seen and "citer_core.routing.decode" in seen
    assert others <= BARE


def test_the_tests_for_a_gpu_need_pytest_too_and_nothing_else():
    marked = [path for path in (ROOT / "tests").rglob("test_*.py") if "pytest.mark" + ".gpu" in path.read_text("utf-8")]
    assert ROOT / "tests/gpu/test_report_on_a_gpu.py" in marked
    folders = {folder for path in marked for folder in path.relative_to(ROOT).parents if folder != Path()}
    files = [*marked, *(ROOT / folder / "conftest.py" for folder in folders)]
    seen, others = needs(*(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files))
    assert "tests.conftest" in seen and others <= BARE | {"pytest"}
