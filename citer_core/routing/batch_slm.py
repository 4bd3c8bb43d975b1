"""The SLM's side of a batch: one pass reads what is new of some sequences, and the router of each scores it.

Each sequence gets its token, or begins to wait for the LLM. Computes; who is in a pass is decided by `batch_pace`.
Called by `batch_decoder`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import torch
from torch import Tensor

from citer_core.models.batched_lm import BatchedLM, BatchForward
from citer_core.models.pair import ModelPair
from citer_core.models.transfer import is_away, lists_to_device, to_device
from citer_core.routing.batch_llm import LLMSide
from citer_core.routing.batch_pace import Pace
from citer_core.routing.batch_reading import next_reads
from citer_core.routing.batch_sequence import BatchSequence
from citer_core.routing.candidates import choose_rows
from citer_core.routing.completion import Step
from citer_core.routing.router import Router, RouterFeatures
from citer_core.routing.soundness import no_confidence, not_a_number
from citer_core.types import prefers_llm


class SLMSide:
    """The SLM with the caches of `n_slots` sequences, and what routers remember of each."""

    def __init__(self, pair: ModelPair, n_slots: int, pace: Pace) -> None:
        self._pair, self._pace = pair, pace
        self._lm = BatchedLM(pair.slm, n_slots)
        self._prompt_hidden = torch.zeros(n_slots, pair.hidden_size, dtype=pair.slm.model.dtype, device=pair.slm.device)

    def clear(self, slot: int) -> None:
        """Makes room for another sequence."""
        self._lm.clear(slot)

    def step(self, rows: Sequence[BatchSequence], llm: LLMSide) -> None:
        """One pass over these sequences.

        Args:
            rows: none waits for the LLM; in the order of their slots.
            llm: where routers that read the LLM get its logits.
        """
        n_cached, is_whole = self._lm.n_cached, self._pace.read_tokens is None
        if all(not s.slm_goals and (is_whole or len(s.ids) == n_cached[s.slot] + 1) for s in rows):
            forward = self._lm.catch_up([s.ids for s in rows], [s.slot for s in rows])
            self._decide(rows, forward, forward.seconds / len(rows), llm)
            return
        goals = [s.slm_goals[0] if s.slm_goals else len(s.ids) for s in rows]
        rows, uptos = next_reads(self._lm, rows, goals, self._pace)
        texts = [s.ids if upto == len(s.ids) else s.ids[:upto] for s, upto in zip(rows, uptos, strict=True)]
        forward = self._lm.catch_up(texts, [s.slot for s in rows])
        seconds = forward.seconds / len(rows)
        whole = [row for row, (s, upto) in enumerate(zip(rows, uptos, strict=True)) if upto == len(s.ids)]
        if len(whole) == len(rows):
            self._decide(rows, forward, seconds, llm)
            return
        for row, (s, upto) in enumerate(zip(rows, uptos, strict=True)):
            if upto < len(s.ids):
                self._read_part(s, upto, forward.hidden[row], seconds)
        if whole:
            chosen = to_device(whole, forward.logits.device)
            part = BatchForward(
                forward.logits.index_select(0, chosen),
                forward.hidden.index_select(0, chosen),
                [forward.n_fed[row] for row in whole],
                forward.seconds,
            )
            self._decide([rows[row] for row in whole], part, seconds, llm)

    def _read_part(self, s: BatchSequence, upto: int, hidden: Tensor, seconds: float) -> None:
        """The SLM has read a part: of a long prompt, or of what a branch shares, whose seconds nobody is told."""
        if not s.slm_goals:
            s.slm_s += seconds
        elif upto == s.slm_goals[0]:
            s.slm_goals.pop(0)
            if upto == s.completion.n_prompt:
                self._prompt_hidden[s.slot] = hidden

    def _decide(self, rows: Sequence[BatchSequence], forward: BatchForward, slm_s: float, llm: LLMSide) -> None:
        """The routers score all of these positions; each sequence gets its token or begins to wait for the LLM."""
        indices = [s.index for s in rows]
        reading = [row for row, s in enumerate(rows) if s.router.reads_llm]
        llm_forward = llm.read([rows[row] for row in reading]) if reading else None
        groups = _by_router(rows)
        scores, router_s, features = list[Tensor](), [0.0] * len(rows), None
        began = time.perf_counter()
        for router, members in groups:
            features = self._features(router, rows, members, indices, forward, reading, llm_forward)
            start = time.perf_counter()
            scores.append(_scored(router, features, rows, members))
            seconds = (time.perf_counter() - start) / len(members)
            for m in members:
                router_s[m] = seconds
        log_probs: Tensor | None = None
        if any(s.request.with_candidates for s in rows):
            of_all = features if features is not None and len(groups) == 1 else None
            log_probs = of_all.log_probs if of_all else torch.log_softmax(forward.logits.float(), dim=-1)
        settings = [s.settings for s in rows]
        chosen = choose_rows(self._pair, forward.logits, log_probs, settings, indices, *scores)
        if any(map(is_away, scores)):  # it is only now that the routers have done their work
            router_s = [(time.perf_counter() - began) / len(rows)] * len(rows)
        confidences: list[float] = chosen.numbers[0]
        if len(groups) > 1:
            confidences = [0.0] * len(rows)
            for (_, members), values in zip(groups, chosen.numbers, strict=True):
                for m, value in zip(members, values, strict=True):
                    confidences[m] = value
        llm_s = llm_forward.seconds / len(reading) if llm_forward else 0.0
        for row, (s, token_id, confidence) in enumerate(zip(rows, chosen.token_ids, confidences, strict=True)):
            if not (0.0 <= confidence <= 1.0 and chosen.are_sound[row]):  # NaN is neither
                s.end("error", no_confidence(s.router) if chosen.are_sound[row] else not_a_number("SLM"))
            if s.has_ended:
                continue
            s.llm_entropy = math.nan
            n_known = len(s.ids)
            slm_top = chosen.tops[row] if s.request.with_candidates else ()
            # By position: names take a part of its time, and there is one for every token.
            fed, seconds = n_known - s.slm_read, s.slm_s + slm_s
            step = Step(token_id, token_id, "slm", confidence, fed, 0, seconds, router_s[row], 0.0, slm_top)
            s.slm_read, s.slm_s = n_known, 0.0
            if s.forced.source == "llm" if s.forced else prefers_llm(confidence, s.settings.threshold):
                s.waiting = step
                continue
            if reading and s.router.reads_llm:
                step.llm_tokens_fed, step.llm_s = n_known - s.llm_read, s.llm_s + llm_s
                s.llm_read, s.llm_s = n_known, 0.0
            s.write(step, self._pair.eos_ids)
        if llm_forward is not None:  # the LLM has answered already
            answered = [(place, rows[row]) for place, row in enumerate(reading) if rows[row].waiting is not None]
            if answered:
                llm.write_read([s for _, s in answered], llm_forward, [place for place, _ in answered])

    def _features(
        self,
        router: Router,
        rows: Sequence[BatchSequence],
        members: Sequence[int],
        indices: Sequence[int],
        forward: BatchForward,
        reading: Sequence[int],
        llm_forward: BatchForward | None,
    ) -> RouterFeatures:
        """What one router may look at of its own sequences, the rows `members`."""
        device = self._prompt_hidden.device
        hidden, logits = forward.hidden, forward.logits
        if len(members) < len(rows):
            chosen = to_device(members, device)
            hidden, logits = hidden.index_select(0, chosen), logits.index_select(0, chosen)
        states: Tensor | None = None
        keys: Tensor | None = None
        positions: Tensor | None = None
        if router.uses_sequence:
            for m in members:
                if indices[m] == 0:
                    self._prompt_hidden[rows[m].slot] = forward.hidden[m]
            lists = [rows[m].slot for m in members], [rows[m].key for m in members], [indices[m] for m in members]
            at, keys, positions = lists_to_device(lists, device)
            states = self._prompt_hidden.index_select(0, at)
        llm_logits: Tensor | None = None
        if router.reads_llm and llm_forward is not None:
            llm_logits = llm_forward.logits
            if len(members) < len(reading):
                llm_logits = llm_logits.index_select(0, to_device([reading.index(m) for m in members], device))
        entropies = [rows[m].llm_entropy for m in members] if router.uses_llm_entropy else None
        return RouterFeatures(
            hidden=hidden,
            logits=logits,
            prompt_hidden=states,
            sequence_key=keys,
            position=positions,
            llm_entropy=None if entropies is None else torch.tensor(entropies, device=device),
            llm_logits=llm_logits,
        )


def _scored(router: Router, features: RouterFeatures, rows: Sequence[BatchSequence], members: Sequence[int]) -> Tensor:
    """[n] confidences; a router that fails ends its own sequences, and no others."""
    try:
        scores = router.confidence(features)
        assert scores.shape == (len(members),), f"{router.name}: {tuple(scores.shape)} for {len(members)} positions"
        return scores
    except Exception as error:  # routers are plug-ins; whoever chose this one is told
        for m in members:
            rows[m].end("error", error)
        return torch.zeros(len(members))


def _by_router(rows: Sequence[BatchSequence]) -> list[tuple[Router, list[int]]]:
    """Every router with its rows."""
    first = rows[0].router
    if all(s.router is first for s in rows):
        return [(first, list(range(len(rows))))]
    groups: dict[int, tuple[Router, list[int]]] = {}
    for row, s in enumerate(rows):
        groups.setdefault(id(s.router), (s.router, []))[1].append(row)
    return list(groups.values())
