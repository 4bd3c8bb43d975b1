"""What the shortcut settles, and how right its labels are where both branches were tried. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from citer_core.errors import DatasetError, GateError
from citer_core.evaluation.metrics import wilson_interval
from citer_core.evidence.claim import Answer, Claim, FigureRow, Finding, Stored, figures
from citer_core.gate.json_file import read_json

SHORTCUT = "shortcut_one_wording.json"  # the first edition's labels, tried by rolling both branches out
CASES = ("the SLM is right", "only the LLM is", "both are wrong")
PAPERS_SETTLED = 0.80, 0.90
_Counted = tuple[dict[str, list[int]], dict[str, Mapping[str, Any]], tuple[str, str], str]


def settled_claim(stored: Stored) -> Claim:
    """The paper's, of what the shortcut settles.

    Raises:
        DatasetError: a stored result is damaged.
    """
    counted, _, (command, _), title = _labels(stored)
    n = sum(map(sum, counted.values()))
    settled = 1 - sum(cases[2] for cases in counted.values()) / n
    low, high = PAPERS_SETTLED
    words = (
        "As the paper has it."
        if low <= settled <= high
        else "More than in the paper: rollouts decide less of the labels."
        if settled > high
        else "Less than in the paper: rollouts decide more of the labels."
    )
    shares = [
        FigureRow.number(kind, f"case {k}: {what}", count / sum(its), "share")
        for kind, its in counted.items()
        for k, (what, count) in enumerate(zip(CASES, its, strict=True), 1)
    ]
    return Claim(
        "settled", "paper", "The shortcut settles 80 to 90% of the tokens", "80 to 90%",
        "confirmed" if low <= settled <= high else "refuted", words,
        Finding((f"{settled:.2%} of {n:,} tokens",), title), f"`{command}`",
        figures=figures(("Tokens of each case", "share", shares)),
    )  # fmt: skip


def _labels(stored: Stored) -> _Counted:
    """Tokens of each case, the branches that were tried, the commands of both and where: of the newest set, else of the
    report of its own.
    """
    if {"routers", "shortcut"} <= stored.parts.keys():
        (_, cases), (regime, tried) = stored.parts["routers"], stored.parts["shortcut"]
        counted = {
            kind: [round(entry["n_tokens"] * share) for share in entry["shares"]]
            for kind, entry in cases.content["cases"].items()
        }
        of = {
            f"{kind}, {_policy(policy)}": entry["cases"]
            for kind, policies in tried.content.items()
            for policy, entry in policies.items()
        }
        return counted, of, (cases.command, tried.command), regime.title
    try:
        report = read_json(stored.folder / SHORTCUT)
        counted = {"all": [int(report["cases"][case]["n_tokens"]) for case in "123"]}
        of = {
            "SLM going on alone": {
                case: {name: int(entry[name]) for name in ("n_right", "n_decided")}
                for case, entry in report["cases"].items()
            }
        }
        return counted, of, (report["command"], report["command"]), ""
    except (GateError, KeyError, TypeError, ValueError) as error:
        raise DatasetError(f"{SHORTCUT} cannot be read: restore it.") from error


def borne_out(stored: Stored) -> Answer:
    """How many of the shortcut's labels both branches bear out.

    Raises:
        DatasetError: a stored result is damaged.
    """
    _, of, (_, command), title = _labels(stored)
    rows = [
        FigureRow.share(policy, f"case {case}", entry["n_right"], entry["n_decided"])
        for policy, its in of.items()
        for case, entry in its.items()
    ]
    two = {policy: its["2"] for policy, its in of.items() if "2" in its}
    right = tuple(
        f"{entry['n_right'] / entry['n_decided']:.0%} of {entry['n_decided']} tokens of case 2 "
        f"({_percents(entry['n_right'], entry['n_decided'])}), {policy}"
        for policy, entry in two.items()
        if entry["n_decided"]
    )
    wrong = sum(e["n_decided"] - e["n_right"] for e in two.values()) / max(1, sum(e["n_decided"] for e in two.values()))
    return Answer(
        Finding(right, title),
        f"{wrong:.0%} of the labels that prefer the LLM are wrong: the SLM's own token led to the right answer too.",
        command,
        figures(("Labels that both branches, rolled out, bear out", "share", rows)),
    )


def _policy(name: str) -> str:
    return {"llm": "the LLM going on", "routed": "both going on, routed"}.get(name, name)


def _percents(n_right: int, n: int) -> str:
    low, high = wilson_interval(n_right, n)
    return f"{low:.0%} to {high:.0%}"
