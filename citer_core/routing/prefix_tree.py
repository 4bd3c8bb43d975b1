"""`PrefixTree`: what both models say after every text that a run has come to, asked once for all routers and taus.

Routers that are compared write much the same: of 62 points on 100 problems of the bundled pair, five tokens in six
stood after a text that an earlier point had come to. A greedy model says the same after the same text, so a run walks
down a tree of texts, in which each node holds the SLM's state and both models' next tokens, and a model is asked only
at a node where it has not been. The tokens are those of `decode`. Knows routers and models; nothing about files.
"""

from __future__ import annotations

import math
import time
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from citer_core.models.batched_lm import BatchedLM, BatchForward
from citer_core.models.greedy import greedy_tokens
from citer_core.models.language_model import LanguageModel
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM
from citer_core.models.transfer import lists_to_device, to_device
from citer_core.routing.decode import check_prompt, sequence_key
from citer_core.routing.router import Router, RouterFeatures, entropy_of_logits
from citer_core.routing.soundness import is_confidence, no_confidence, not_a_number
from citer_core.types import prefers_llm

UNKNOWN = -1
_FIRST_ROOM = 1024  # nodes


@dataclass(slots=True)
class Path:
    """One run's way down the tree.

    Attributes:
        n_prompt: tokens of the prompt.
        token_ids: what was written, the end of text included.
        confidences: of the router, one per token.
        llm_at: positions of the LLM's tokens, rising.
        nodes: before each token.
        is_cut: the limit of tokens ended it.
        seconds, llm_seconds: the passes' parts that read this text, whichever run they were made for, and the router;
            and those of the LLM alone.
    """

    n_prompt: int
    token_ids: list[int] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    llm_at: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    is_cut: bool = False
    seconds: float = 0.0
    llm_seconds: float = 0.0


class PrefixTree:
    """The texts of some prompts, and both models' caches of the text of each that was read last.

    Args:
        pair: two loaded models.
        prompts: token ids; as many sequences share a pass.
        max_new_tokens: end of text included.
        readers: both models with a slot for each prompt at least, which other trees may use too; None makes some.

    Attributes:
        n_nodes: texts that a run has come to.

    Raises:
        PromptError: a prompt is empty or too long.
    """

    def __init__(
        self,
        pair: ModelPair,
        prompts: Sequence[Sequence[int]],
        max_new_tokens: int,
        readers: Readers | None = None,
    ) -> None:
        self._pair, self._readers = pair, readers or Readers(pair, len(prompts))
        self._prompts = [list(prompt) for prompt in prompts]
        self._keys = [sequence_key(prompt) for prompt in prompts]
        self._limits = [min(max_new_tokens, check_prompt(pair, prompt)) for prompt in prompts]
        # Of each node; the first ones are the roots, in the order of the prompts.
        self._slm_token, self._llm_token = array("l"), array("l")
        self._slm_child, self._llm_child = array("l"), array("l")
        self._slm_s, self._llm_s = array("d"), array("d")
        self._llm_entropy = array("d")
        dtype, device = pair.slm.model.dtype, pair.slm.device
        self._hidden = torch.empty(_FIRST_ROOM, pair.hidden_size, dtype=dtype, device=device)
        self._statistics = torch.empty(_FIRST_ROOM, 3, device=device)
        for _ in prompts:
            self._add_node()

    @property
    def n_nodes(self) -> int:
        """Texts that a run has come to."""
        return len(self._slm_token)

    @torch.inference_mode()
    def walk(self, router: Router, threshold: float, which: Sequence[int]) -> list[Path]:
        """One run of a router at a tau for some of the prompts.

        Args:
            router: one that does not read the LLM.
            threshold: its tau.
            which: numbers of prompts, all different.

        Returns:
            Their paths, in the order of `which`.

        Raises:
            NotANumberError: a model or the router computed none.
        """
        assert not router.reads_llm, "the LLM is asked where a router sends it"
        paths = {k: Path(len(self._prompts[k])) for k in which}
        texts = {k: list(self._prompts[k]) for k in which}
        at = {k: k for k in which}  # the roots have the prompts' numbers
        active = list(which)
        while active:
            self._ask_slm([(k, at[k]) for k in active], texts)
            start = time.perf_counter()
            scores = self._scores(router, active, at, paths)
            router_s = (time.perf_counter() - start) / len(active)
            for k, score in zip(active, scores, strict=True):
                path = paths[k]
                path.nodes.append(at[k])
                path.confidences.append(score)
                path.seconds += router_s
                if prefers_llm(score, threshold):
                    path.llm_at.append(len(path.token_ids))
            by_llm = {k for k in active if paths[k].llm_at and paths[k].llm_at[-1] == len(paths[k].token_ids)}
            self._ask_llm([(k, at[k]) for k in active if k in by_llm], texts, paths)
            active = [k for k in active if self._go_down(k, at, texts[k], paths[k], by_llm=k in by_llm)]
        for path in paths.values():
            n_read = path.llm_at[-1] + 1 if path.llm_at else 0
            path.llm_seconds = sum(self._llm_s[node] for node in path.nodes[:n_read])
            path.seconds += path.llm_seconds + sum(self._slm_s[node] for node in path.nodes)
        return [paths[k] for k in which]

    def _go_down(self, k: int, at: dict[int, int], text: list[int], path: Path, *, by_llm: bool) -> bool:
        """Writes one token; says whether the text goes on."""
        node = at[k]
        token = (self._llm_token if by_llm else self._slm_token)[node]
        path.token_ids.append(token)
        if token in self._pair.eos_ids:
            return False
        if len(path.token_ids) == self._limits[k]:
            path.is_cut = True
            return False
        text.append(token)
        children, others = (self._llm_child, self._slm_child) if by_llm else (self._slm_child, self._llm_child)
        if children[node] == UNKNOWN:
            same = self._slm_token[node] == self._llm_token[node] and others[node] != UNKNOWN
            children[node] = others[node] if same else self._add_node()
        at[k] = children[node]
        return True

    def _add_node(self) -> int:
        number = self.n_nodes
        for tokens in (self._slm_token, self._llm_token, self._slm_child, self._llm_child):
            tokens.append(UNKNOWN)
        self._slm_s.append(0.0)
        self._llm_s.append(math.nan)  # until the LLM has read its last token
        self._llm_entropy.append(math.nan)
        if number == len(self._hidden):
            self._hidden = torch.cat((self._hidden, torch.empty_like(self._hidden)))
            self._statistics = torch.cat((self._statistics, torch.empty_like(self._statistics)))
        return number

    def _ask_slm(self, places: Sequence[tuple[int, int]], texts: dict[int, list[int]]) -> None:
        """Fills in the SLM's token and state of those nodes, (prompt, node), that have none yet."""
        places = [(k, node) for k, node in places if self._slm_token[node] == UNKNOWN]
        if not places:
            return
        forward = self._readers.slm.read([k for k, _ in places], [texts[k] for k, _ in places])
        features = RouterFeatures(forward.hidden, forward.logits)
        rows = to_device([node for _, node in places], self._hidden.device)
        self._hidden[rows] = forward.hidden
        statistics = torch.stack((features.max_probability, features.margin, features.entropy), dim=1)
        self._statistics[rows] = statistics
        if not bool(torch.isfinite(features.max_probability).all()):
            raise not_a_number("SLM")
        for (_, node), token in zip(places, greedy_tokens(forward.logits).tolist(), strict=True):
            self._slm_token[node] = token
            self._slm_s[node] = forward.seconds / len(places)

    def _ask_llm(self, places: Sequence[tuple[int, int]], texts: dict[int, list[int]], paths: dict[int, Path]) -> None:
        """Fills in the LLM's token of those nodes, (prompt, node), that have none yet."""
        places = [(k, node) for k, node in places if self._llm_token[node] == UNKNOWN]
        if not places:
            return
        forward = self._readers.llm.read([k for k, _ in places], [texts[k] for k, _ in places])
        best = forward.logits.amax(-1)
        if not bool(torch.isfinite(best).all()):
            raise not_a_number("LLM")
        entropies = entropy_of_logits(forward.logits).tolist()
        seconds = forward.seconds / len(places)
        tokens = greedy_tokens(forward.logits).tolist()
        for (k, node), token, entropy in zip(places, tokens, entropies, strict=True):
            self._llm_token[node], self._llm_entropy[node] = token, entropy
            # Its part of the pass is shared by the tokens that it reads for the first time.
            fresh = [one for one in paths[k].nodes if math.isnan(self._llm_s[one])]
            for one in fresh:
                self._llm_s[one] = seconds / len(fresh)

    def _scores(self, router: Router, active: Sequence[int], at: dict[int, int], paths: dict[int, Path]) -> list[float]:
        device = self._hidden.device
        lists: list[Sequence[int]] = [[at[k] for k in active]]
        if router.uses_sequence:
            lists += [active, [self._keys[k] for k in active], [len(paths[k].token_ids) for k in active]]
        rows, *of_sequence = lists_to_device(lists, device)
        features = RouterFeatures(
            self._hidden.index_select(0, rows),
            self._hidden.new_empty(len(active), 0),
            prompt_hidden=self._hidden.index_select(0, of_sequence[0]) if of_sequence else None,
            sequence_key=of_sequence[1] if of_sequence else None,
            position=of_sequence[2] if of_sequence else None,
            llm_entropy=self._entropies(active, paths, device) if router.uses_llm_entropy else None,
        )
        names = "max_probability", "margin", "entropy"
        statistics = self._statistics.index_select(0, rows)
        vars(features).update(zip(names, statistics.unbind(1), strict=True))
        scores: list[float] = router.confidence(features).tolist()
        if not all(map(is_confidence, scores)):
            raise no_confidence(router)
        return scores

    def _entropies(self, active: Sequence[int], paths: dict[int, Path], device: torch.device) -> Tensor:
        """[B] float32: the LLM's entropy at the token before, where it wrote that one."""
        values = [
            self._llm_entropy[path.nodes[-1]] if path.llm_at and path.llm_at[-1] == len(path.nodes) - 1 else math.nan
            for path in (paths[k] for k in active)
        ]
        return torch.tensor(values, device=device)


class Readers:
    """Both models of a pair, each with the caches of so many texts.

    Attributes:
        n_slots: how many.
        slm, llm: the readers.
    """

    def __init__(self, pair: ModelPair, n_slots: int) -> None:
        assert not isinstance(pair.llm, RemoteLM), "a server is asked by the decode loop"
        self.n_slots = n_slots
        self.slm, self.llm = TextReader(pair.slm, n_slots), TextReader(pair.llm, n_slots)


class TextReader:
    """One model that reads texts as they come, each in a slot of its own."""

    def __init__(self, lm: LanguageModel, n_slots: int) -> None:
        self._lm = BatchedLM(lm, n_slots)
        self._held: list[list[int]] = [[] for _ in range(n_slots)]

    def read(self, slots: Sequence[int], texts: Sequence[list[int]]) -> BatchForward:
        """Answers for the position after each text; a slot that has read another one keeps what they share.

        Of new texts side by side that begin alike, as rollouts of one answer do, the longest is read first: the others
        take their beginning from it.
        """
        longest, others = list[int](), list[int]()
        for row, (slot, text) in enumerate(zip(slots, texts, strict=True)):
            held = self._held[slot]
            if held and (len(text) <= len(held) or text[: len(held)] != held):
                self._lm.clear(slot)
            is_new = not held or not _begin_alike(held, text)
            if not is_new or not longest or not _begin_alike(texts[longest[-1]], text):
                (longest if is_new else others).append(row)
            elif len(text) > len(texts[longest[-1]]):
                others.append(longest[-1])
                longest[-1] = row
            else:
                others.append(row)
            self._held[slot] = list(text)
        if not longest or not others:
            return self._lm.catch_up(texts, slots)
        waves = [
            self._lm.catch_up([texts[row] for row in rows], [slots[row] for row in rows]) for rows in (longest, others)
        ]
        place = sorted(range(len(texts)), key=[*longest, *others].__getitem__)
        at = to_device(place, waves[0].logits.device)
        return BatchForward(
            torch.cat([wave.logits for wave in waves]).index_select(0, at),
            torch.cat([wave.hidden for wave in waves]).index_select(0, at),
            [(waves[0].n_fed + waves[1].n_fed)[k] for k in place],
            waves[0].seconds + waves[1].seconds,
        )


def _begin_alike(one: Sequence[int], other: Sequence[int]) -> bool:
    """Whether most of the shorter text is how the longer one begins."""
    n = 3 * min(len(one), len(other)) // 4
    return one[:n] == other[:n]
