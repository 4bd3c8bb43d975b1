"""What a report says: its headline numbers beside the goals, as a table of text. No torch.

Derived from the results each time, never stored. Called by the command line and by what shows a stored report.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from citer_core.measuring.profile_words import Table

Results = Mapping[str, Mapping[str, Mapping[str, Any]]]
BANDWIDTH_GOAL, OUTSIDE_GOAL, ATTAINED_GOAL, WAITS_GOAL = 0.6, 0.05, 0.9, 1.0
GOAL_SHARE = 0.2  # of tokens by the LLM, at which a run is held against what its bytes say
HEAD = ("run", "way", "tokens/s", "of the copy bandwidth", "outside models and router", "of what bytes say")


def correctness_sentences(results: Results) -> list[str]:
    """Whether tokens are right, one sentence for each comparison that was made."""
    said = []
    for name, result in results.get("correctness", {}).items():
        if "error" in result:
            said.append(f"{name}: failed ({result['error']}).")
        elif "compared" in result:
            counted = "; ".join(
                f"{which}: {tally['n_equal']} of {tally['n_texts']} texts equal, {tally['n_ties']} part at a tie, "
                f"{tally['n_wrong']} wrong"
                for which, tally in result["compared"].items()
            )
            said.append(f"{name}: {'right' if result['is_right'] else 'WRONG'} ({counted}).")
        else:
            said.append(
                f"{name}: {'right' if result['is_right'] else 'WRONG'} ({result['n_probed_apart']} of "
                f"{result['n_probed']} probed tokens and {result['n_labels_apart']} of {result['n_labels']} labels "
                "differ from the processor's)."
            )
    return said


def speed_table(results: Results) -> Table:
    """Runs of each pair in each way; a run with random weights moves the bytes of a real one."""
    rows = tuple(row for result in results.get("speed", {}).values() for row in _speed_rows(result))
    return Table("Decoding (measured; bytes estimated)", HEAD, rows)


def _speed_rows(result: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    if "error" in result:
        return
    pair, way = result["pair"], result.get("path", "")
    for name, words in (("slm_alone", "SLM alone"), ("llm_alone", "LLM alone")):
        if (row := result.get(name)) is not None:
            yield f"{pair}: {words}", way, _speed(row), _percent(row["bandwidth_share"]), "", ""
    for row in result.get("routed", []):
        yield (
            f"{pair}: routed, {row['llm_share']:.0%} LLM",
            way,
            _speed(row),
            _percent(row["bandwidth_share"]),
            _percent(row["outside_share"]),
            _percent(row["attained"]),
        )
    for name, row in result.get("runs", {}).items():
        share = row.get("bandwidth_share")
        yield f"{pair}: {name.replace('_', ' ')}", way, _speed(row), "" if share is None else _percent(share), "", ""


def bandwidth_sentences(results: Results) -> list[str]:
    """What each pair reaches in the way in which a run near `GOAL_SHARE` is the fastest, beside the goals."""
    said = []
    runs = [row for row in results.get("speed", {}).values() if row.get("routed")]
    for pair in dict.fromkeys(row["pair"] for row in runs):
        mine = [(row, _near_goal(row["routed"])) for row in runs if row["pair"] == pair]
        best, at = max(mine, key=lambda both: float(both[1]["tokens_per_s"]))
        shares = (best["slm_alone"]["bandwidth_share"], best["llm_alone"]["bandwidth_share"], at["bandwidth_share"])
        said.append(
            f"with {pair} ({best['path']}) the SLM alone reaches {shares[0]:.0%} of the copy bandwidth, the LLM alone "
            f"{shares[1]:.0%} and a routed run with {at['llm_share']:.0%} LLM tokens {shares[2]:.0%} (goal: "
            f"{BANDWIDTH_GOAL:.0%}); {at['outside_share']:.1%} of that run is outside models and router (goal: under "
            f"{OUTSIDE_GOAL:.0%}), and it saves {at['attained']:.0%} of what the bytes say (goal: {ATTAINED_GOAL:.0%})."
        )
    return said


def _near_goal(routed: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    return min(routed, key=lambda row: abs(float(row["llm_share"]) - GOAL_SHARE))


def goal_sentences(results: Results) -> list[str]:
    """The goals, each beside what was measured."""
    said = bandwidth_sentences(results)
    counted = (row for result in results.get("waits", {}).values() for row in result.get("rows", []))
    said += [
        f"{row['path']} at {row['asked_share']:.0%}: {row['waits_per_token']:.2f} waits a token (goal: at most "
        f"{WAITS_GOAL:.0f})."
        for row in counted
        if row["waits_per_token"] is not None
    ]
    return said


def problems(results: Results) -> list[str]:
    """What failed, and what is wrong."""
    found = [
        f"{part}, {name}: {result['error']}"
        for part, named in results.items()
        for name, result in named.items()
        if "error" in result
    ]
    found += [
        f"{part}, {name}: passes were not replayed"
        for part, named in results.items()
        for name, result in named.items()
        if str(result.get("path", "")).startswith("graphs") and not all(result.get("is_replayed", [True]))
    ]
    wrong = [name for name, result in results.get("correctness", {}).items() if result.get("is_right") is False]
    return found + [f"correctness, {name}: tokens are wrong" for name in wrong]


def _speed(row: Mapping[str, Any]) -> str:
    return f"{row['tokens_per_s']:,.1f}"


def _percent(value: float) -> str:
    return f"{value:.1%}"
