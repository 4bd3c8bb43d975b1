"""`evaluate` on the bundled pair: its rows, its table, and the shares that it finds."""

from __future__ import annotations

import pytest

from citer_core.cli.main import main
from citer_core.cost import H100_SXM, QWEN2_1_5B, QWEN2_72B, CostModel, CostSummary
from citer_core.evaluation import run_book
from citer_core.evaluation.metrics import unpack
from citer_core.evaluation.run_book import RunBook
from citer_core.tasks.datasets import bundled_rows
from citer_core.trace import RoutingTrace
from tests.cli.examples import lines, write_rows


def read_table(lines):
    """Rows of a printed table by their heading."""
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(cells[0], row, strict=True)) for row in cells[2:]]


def in_bytes(text):
    value, unit = text.split()
    return float(value) * {"MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]


def test_the_table_is_what_the_rows_say_and_a_second_start_measures_only_the_rest(data, tmp_path, capsys, monkeypatch):
    out = tmp_path / "points.jsonl"
    arguments = ["evaluate", "--dataset-path", str(data), "--output-file", str(out), "--max-new-tokens", "16"]
    arguments += ["--routers", "margin", "random", "--thresholds", "0", "0.5", "1"]
    asked = decoded_points(monkeypatch, 5)
    assert main(arguments) == 130
    assert len(lines(out)) == 4
    capsys.readouterr()
    assert main(arguments) == 0
    wanted = [(router, tau) for router in ("margin", "random") for tau in (0.0, 0.5, 1.0)]
    assert asked == [*wanted[:5], *wanted[4:]]  # the fifth was interrupted
    assert sorted(path.name for path in tmp_path.glob("points*")) == ["points.jsonl", "points.jsonl.meta.json"]
    rows, table = lines(out), capsys.readouterr().out.splitlines()
    assert len(rows) == 6 and len(table) == 8
    for row, cells in zip(rows, read_table(table), strict=True):
        low, high = row["accuracy"]["interval_95"]
        assert (cells["router"], cells["tau"]) == (row["router"], f"{row['threshold']:g}")
        assert cells["right"] == f"{row['accuracy']['n_correct'] / 5:.1%}"
        assert cells["95% interval"] == f"{low:.1%} to {high:.1%}"
        assert cells["LLM tokens"] == f"{row['llm_token_share']:.1%}"
        assert cells["of LLM-only"] == f"{row['bytes_share']:.1%}"
        assert in_bytes(cells["bytes (est.)"]) == pytest.approx(row["n_bytes"], rel=0.01)
        assert float(cells["GB/token"]) == pytest.approx(row["n_bytes"] / row["n_tokens"] / 1e9, rel=0.01)
        assert row["gb_per_token"] == pytest.approx(row["n_bytes"] / row["n_tokens"] / 1e9, rel=1e-3)
        assert float(cells["TFLOP (est.)"]) == pytest.approx(row["flops"] / 1e12, rel=0.01)
    by_id = {row["id"]: row for row in rows}
    assert by_id["margin tau 0"]["llm_token_share"] == 0.0 and by_id["random tau 1"]["llm_token_share"] == 1.0
    # Both ends are the same text for every router, and the table agrees with a run of `route`.
    for tau in (0, 1):
        assert by_id[f"margin tau {tau}"]["accuracy"] == by_id[f"random tau {tau}"]["accuracy"]
    routed = tmp_path / "routed.jsonl"
    route = ["route", "--dataset-path", str(data), "--output-file", str(routed), "--max-new-tokens", "16"]
    assert main([*route, "--router", "margin", "--threshold", "0.5"]) == 0
    point, runs = by_id["margin tau 0.5"], lines(routed)
    assert point["accuracy"]["n_correct"] == sum(row["is_correct"] for row in runs)
    assert point["n_tokens"] == sum(row["n_tokens"] for row in runs)
    assert point["n_bytes"] == pytest.approx(sum(row["estimated_bytes"] for row in runs))


def test_points_with_other_settings_are_points_of_their_own(data, tmp_path, capsys):
    """What takes back all writes what the LLM writes, and costs what `route` says that it costs."""
    out, routed = tmp_path / "points.jsonl", tmp_path / "routed.jsonl"
    common = ["--dataset-path", str(data), "--limit", "3", "--max-new-tokens", "40"]
    looks = "margin=0,look_every=8,take_back=1"
    assert main(["evaluate", *common, "--output-file", str(out), "--points", "margin=0", looks]) == 0
    table = read_table(capsys.readouterr().out.splitlines())
    plain, looking, llm = lines(out)
    assert looking["settings"] == {"look_every": 8, "take_back": 1} and "settings" not in plain
    assert looking["id"] == "margin tau 0 look_every=8 take_back=1" and looking["right"] == llm["right"]
    assert looking["n_tokens"] == llm["n_tokens"] and plain["n_bytes"] < looking["n_bytes"] < llm["n_bytes"]
    assert [cells["tau"] for cells in table] == ["0", "0 look_every=8 take_back=1", "1"]
    passes = [f"{row['work']['llm']['n_passes'] / row['n_tokens']:.1%}" for row in (plain, looking, llm)]
    assert [cells["LLM passes"] for cells in table] == passes == ["0.0%", passes[1], "100.0%"]
    route = ["route", *common, "--output-file", str(routed), "--router", "margin", "--threshold", "0"]
    assert main([*route, "--look-every", "8", "--take-back", "1"]) == 0
    assert looking["n_bytes"] == pytest.approx(sum(row["estimated_bytes"] for row in lines(routed)))
    for wrong, says in (
        ("margin=0,seed=3", "beside its tau a router may have take_back"),
        ("margin=0,x=1", "no setting"),
    ):
        assert main(["evaluate", *common, "--output-file", str(out), "--points", wrong]) == 2
        assert says in capsys.readouterr().err


def decoded_points(monkeypatch, n_last):
    """What is decoded, as it is asked for; Ctrl-C meets the `n_last`-th."""
    asked, honest = [], RunBook._decoded

    def counted(book, router, problems, settings, *more):
        asked.append((router, settings.threshold))
        if len(asked) == n_last:
            raise KeyboardInterrupt
        return honest(book, router, problems, settings, *more)

    monkeypatch.setattr(RunBook, "_decoded", counted)
    return asked


def test_many_points_go_side_by_side_to_the_same_rows(data, tmp_path, monkeypatch):
    """Killed among them, they go on with the answers that there are."""
    common = ["evaluate", "--dataset-path", str(data), "--max-new-tokens", "12", "--batch-size", "2"]
    common += ["--without-llm-alone"]
    taus = [f"{name}={tau}" for name in ("citer", "margin") for tau in (0.1, 0.8)]
    apart = []
    for some in (taus[:2], taus[2:]):
        out = tmp_path / f"{some[0]}.jsonl"
        assert main([*common, "--output-file", str(out), "--points", *some]) == 0
        apart += lines(out)
    together = tmp_path / "together.jsonl"
    monkeypatch.setattr("citer_core.cli.evaluate.SIDE_BY_SIDE", len(taus))
    asked = decoded_points(monkeypatch, 6)  # a point of the second problems
    arguments = [*common, "--output-file", str(together), "--points", *taus]
    assert main(arguments) == 130
    assert lines(together) == [] and len(lines(tmp_path / "together.jsonl.answers.jsonl")) == 5
    assert main(arguments) == 0
    assert asked[5] == asked[6] and len(asked) <= 2 * len(taus) + 1
    for row, other in zip(lines(together), apart, strict=True):
        assert row | {"measured_s": 0} == other | {"measured_s": 0}
    assert sorted(path.name for path in tmp_path.glob("together*")) == ["together.jsonl", "together.jsonl.meta.json"]


def test_points_of_other_problems_are_not_mixed(data, tmp_path, capsys):
    out = tmp_path / "points.jsonl"
    arguments = ["--output-file", str(out), "--routers", "margin", "--thresholds", "0", "1", "--max-new-tokens", "5"]
    assert main(["evaluate", "--dataset-path", str(data), *arguments]) == 0
    before = out.read_bytes()
    assert main(["evaluate", "--dataset-path", str(tmp_path / "tuning.jsonl"), *arguments]) == 2
    assert "problems was '5 problems" in capsys.readouterr().err
    assert out.read_bytes() == before


def test_shares_are_found_on_the_tuning_problems(data, tmp_path, capsys, monkeypatch):
    seen, honest = [], run_book.threshold_for
    monkeypatch.setattr(
        run_book,
        "threshold_for",
        lambda book, router, tuning, *more: (
            seen.append([p.id for p in tuning.problems]) or honest(book, router, tuning, *more)
        ),
    )
    out = tmp_path / "matched.jsonl"
    arguments = ["evaluate", "--dataset-path", str(data), "--tuning-path", str(tmp_path / "tuning.jsonl")]
    arguments += ["--shares", "0.4", "--routers", "random", "--max-new-tokens", "40", "--output-file", str(out)]
    arguments += ["--without-llm-alone"]
    assert main(arguments) == 0
    (row,) = lines(out)
    assert seen == [["new-5", "new-6", "new-7"]]
    assert (row["id"], row["share_wanted"]) == ("random share 0.4", 0.4)
    assert row["llm_token_share"] == pytest.approx(0.4, abs=0.12) and 0.2 < row["threshold"] < 0.6


def test_each_router_has_taus_of_its_own(data, tmp_path):
    common = ["evaluate", "--dataset-path", str(data), "--max-new-tokens", "20", "--limit", "2", "--without-llm-alone"]
    points, sweep = tmp_path / "points.jsonl", tmp_path / "sweep.jsonl"
    chosen = ["margin=0.2", "always-llm=1", "margin=0.9"]
    assert main([*common, "--output-file", str(points), "--points", *chosen]) == 0
    assert [row["id"] for row in lines(points)] == ["margin tau 0.2", "always-llm tau 1", "margin tau 0.9"]
    assert main([*common, "--output-file", str(sweep), "--routers", "margin", "--thresholds", "0.2", "0.9"]) == 0
    of_margin = [row for row in lines(points) if row["router"] == "margin"]
    for row, other in zip(of_margin, lines(sweep), strict=True):
        assert row | {"measured_s": 0} == other | {"measured_s": 0}


def test_an_unknown_router_names_those_that_exist(data, tmp_path, capsys):
    arguments = ["evaluate", "--dataset-path", str(data), "--output-file", str(tmp_path / "o"), "--routers", "nope"]
    assert main(arguments) == 2
    assert "max-probability" in capsys.readouterr().err


def test_a_run_is_priced_for_another_pair_and_beside_the_llms_own_answers(tmp_path, capsys):
    """The rows of one measurement; prices from the runs' own events, as `route` recorded them.

    Under margin the third answer is longer than the LLM's own, and the second does not end in time.
    """
    asked = [bundled_rows("mc")[n] for n in (0, 1, 32)]
    data = write_rows(tmp_path / "rows.jsonl", [row.row for row in asked])
    out = tmp_path / "points.jsonl"
    common = ["--dataset-path", str(data), "--data-type", "mc", "--max-new-tokens", "50"]
    arguments = ["evaluate", *common, "--output-file", str(out), "--points", "citer=0.9", "margin=0.5"]
    assert main(arguments) == 0
    table = read_table(capsys.readouterr().out.splitlines())
    rows = lines(out)
    assert [row["id"] for row in rows] == ["citer tau 0.9", "margin tau 0.5", "always-llm tau 1"]
    before = out.read_bytes()
    assert main([*arguments, "--price-as", "qwen2-1.5b-72b"]) == 0
    priced = read_table(capsys.readouterr().out.splitlines())
    assert out.read_bytes() == before  # nothing is run again
    totals = []
    for number, row in enumerate(rows):
        path = tmp_path / f"{number}.jsonl"
        route = ["route", *common, "--output-file", str(path), "--with-trace", "--router", row["router"]]
        assert main([*route, "--threshold", str(row["threshold"])]) == 0
        traces = [RoutingTrace.from_dict(run["trace"]) for run in lines(path)]
        n_routed = (2 * 1536**2 + 2 * 1536) + 4 * 1536 + (2 * 1536**2 + 1536) + 1537 if row["router"] == "citer" else 0
        pairs = [(trace.pair.slm, trace.pair.llm, trace.router.n_params) for trace in traces[:1]] + [
            (QWEN2_1_5B, QWEN2_72B, n_routed)
        ]
        costs = [
            [CostSummary.of(CostModel(slm, llm, H100_SXM, n), trace.events) for trace in traces]
            for slm, llm, n in pairs
        ]
        totals.append(
            [tuple(sum(getattr(c, way).n_bytes for c in some) for way in ("routed", "llm_only")) for some in costs]
        )
        assert row["n_cut"] == sum(trace.finish_reason == "length" for trace in traces)
        assert row["cut_share"] == round(row["n_cut"] / 3, 4)
        right = {trace.prompt.question: trace.answer.is_correct for trace in traces}
        assert list(unpack(row["right"], 3)) == [right[row.problem.question] for row in asked]
    for which, (found, head) in enumerate([(table, "bytes (est.)"), (priced, "bytes (est., as Qwen2 1.5B / 72B)")]):
        own_answers = totals[-1][which][1]
        for row, cells, (n_bytes, llm_only) in zip(rows, found, (t[which] for t in totals), strict=True):
            assert in_bytes(cells[head]) == pytest.approx(n_bytes, rel=0.01)
            assert cells["of LLM-only"] == f"{n_bytes / llm_only:.1%}"
            assert cells["of its answers"] == f"{n_bytes / own_answers:.1%}"
            assert float(cells["GB/token"]) == pytest.approx(n_bytes / row["n_tokens"] / 1e9, rel=0.01)
            assert cells["cut"] == f"{row['cut_share']:.1%}"
    assert priced[-1]["of its answers"] == priced[-1]["of LLM-only"]  # the same text
    assert priced[1]["of its answers"] != priced[1]["of LLM-only"]
    assert {row["n_cut"] for row in rows} == {1}
