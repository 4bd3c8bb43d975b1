"""An analysis as one message for the Labels tab: columns of tokens, confidences bit by bit.

Columns rather than objects, and each distinct token text once: 200 problems are 13,000 tokens. Confidences go as
float32 in base64, because a tau may equal one and a rounded one would be decided differently.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from citer_core.ui.messages import Message

if TYPE_CHECKING:
    from torch import Tensor

    from citer_core.evaluation.branches import Branch, Branches
    from citer_core.evaluation.label_view import LabelledText
    from citer_core.models.pair import ModelPair
    from citer_core.routing.router import Router

END_OF_TEXT = -1
UNDECIDED = 2  # the digit of a token without a label: both answers are wrong


def progress_message(title: str, n_done: int, n_problems: int) -> Message:
    """How far a running analysis is."""
    return {"progress": {"title": title, "done": n_done, "total": n_problems}}


def analysis_body(
    title: str,
    pair: ModelPair,
    routers: Sequence[Router],
    texts: Sequence[LabelledText],
    outcome: Sequence[Tensor] | None = None,
) -> Message:
    """Everything that the tab shows of some labelled texts; moving tau or changing the router then needs no request.

    Args:
        title: of what was read.
        pair: that read it.
        routers: that scored it.
        texts: with the published labels.
        outcome: labels by outcome of the same texts, where they were made; see `outcome_labels`.
    """
    words = _Words()
    return {
        "title": title,
        "problems": [
            {
                "id": text.example.problem.id,
                "kind": text.example.problem.data_type,
                "question": text.example.problem.question,
                "answer": text.example.problem.true_answer,
                "n": text.n_tokens,
            }
            for text in texts
        ],
        "routers": [_router_head(router) for router in routers],
        "text": [words.index(piece) for text in texts for piece in text.pieces],
        "slm": [words.token(pair, i) for text in texts for i in text.slm_ids.tolist()],
        "llm": [words.token(pair, i) for text in texts for i in text.llm_ids.tolist()],
        "words": words.texts,
        "case": "".join(str(case) for text in texts for case in text.case.tolist()),
        "label": _digits([text.label for text in texts]),
        "outcome": None if outcome is None else _digits(outcome),
        **{
            name: _base64([getattr(text, name) for text in texts])
            for name in ("slm_probability", "llm_probability", "slm_truth_probability", "llm_truth_probability")
        },
        "confidence": {router.name: _base64([text.confidence[router.name] for text in texts]) for router in routers},
    }


def _digits(labels: Sequence[Tensor]) -> str:
    """A digit a token."""
    return "".join(str(UNDECIDED if one < 0 else one) for label in labels for one in label.tolist())


def rollout_message(index: int, router: str, tau: float, branches: Branches) -> Message:
    """Both branches of one token."""
    return {
        "rollout": {
            "index": index,
            "router": router,
            "tau": tau,
            "slm": _branch(branches.slm),
            "llm": _branch(branches.llm),
            "preferred": branches.preferred,
        }
    }


class _Words:
    """Distinct texts in the order of their first use."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._index: dict[str, int] = {}

    def index(self, text: str) -> int:
        if text not in self._index:
            self._index[text] = len(self.texts)
            self.texts.append(text)
        return self._index[text]

    def token(self, pair: ModelPair, token_id: int) -> int:
        return END_OF_TEXT if token_id in pair.eos_ids else self.index(pair.token_text(token_id))


def _router_head(router: Router) -> dict[str, Any]:
    prior = getattr(router, "card", {}).get("prior", "")
    return {"name": router.name, "label": router.label, "tau": router.default_threshold, "prior": prior}


def _base64(parts: Sequence[Tensor]) -> str:
    """One column of float32."""
    return base64.b64encode(b"".join(part.numpy().astype("<f4").tobytes() for part in parts)).decode("ascii")


def _branch(branch: Branch) -> dict[str, Any]:
    return {
        "token": branch.token,
        "pieces": branch.pieces,
        "answer": branch.answer,
        "correct": branch.is_correct,
        "finish": branch.finish_reason,
        "n_llm": branch.n_llm_tokens,
    }
