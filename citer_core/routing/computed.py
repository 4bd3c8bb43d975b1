"""Both models where they are loaded here and every pass is computed: what they say after several texts at once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from citer_core.models.pair import ModelPair
from citer_core.models.reader import Reader
from citer_core.models.transfer import is_away, lists_to_device, to_device, to_host
from citer_core.routing.candidates import choose_rows, chosen_tokens
from citer_core.routing.look_back import Span
from citer_core.routing.router import Router, RouterFeatures, entropy_of
from citer_core.routing.said import LlmSide, Said, Side, SlmSide, not_a_number
from citer_core.routing.sequence import RoutedSequence


class Computed(Side):
    """One model of a pair with the caches of several sequences, which stay: the next one in a slot may begin alike."""

    reader: Reader

    def __init__(self, pair: ModelPair, reader: Reader) -> None:
        self._pair, self.reader = pair, reader

    def enter(self, s: RoutedSequence) -> None:
        """See `Side`."""
        self.reader.truncate(s.slot, 0)

    def truncate(self, s: RoutedSequence, n_tokens: int) -> None:
        """See `Side`."""
        self.reader.truncate(s.slot, n_tokens)

    def _pass(
        self, rows: Sequence[RoutedSequence], uptos: Sequence[int], n_last: Sequence[int] | None = None
    ) -> tuple[Tensor, Tensor, float]:
        """States [N, H] and logits [N, V] behind these beginnings of the texts, and each one's part of the seconds.

        Of each text at its last position, or its last `n_last`.
        """
        texts = [s.ids if upto == len(s.ids) else s.ids[:upto] for s, upto in zip(rows, uptos, strict=True)]
        reading = self.reader.read(texts, [s.slot for s in rows], n_last)
        return reading.hidden, reading.logits, reading.seconds / len(rows)


class ComputedSlm(Computed, SlmSide):
    """The SLM with the caches of `n_slots` sequences, and what routers remember of each; see `SlmSide`."""

    def __init__(self, pair: ModelPair, n_slots: int) -> None:
        super().__init__(pair, Reader(pair.slm, n_slots))
        self._prompt_hidden = torch.zeros(n_slots, pair.hidden_size, dtype=pair.slm.model.dtype, device=pair.slm.device)

    def read(
        self, rows: Sequence[RoutedSequence], uptos: Sequence[int], llm_logits: Mapping[RoutedSequence, Tensor]
    ) -> list[Said]:
        """See `SlmSide`."""
        hidden, logits, seconds = self._pass(rows, uptos)
        whole = []
        for row, s in enumerate(rows):
            if s.router.uses_sequence and uptos[row] == s.n_prompt:
                self._prompt_hidden[s.slot] = hidden[row]
            if uptos[row] == len(s.ids):
                whole.append(row)
        groups = by_router(rows, whole)
        if len(groups) == 1 and len(whole) == len(rows):
            return self._say(rows, hidden, logits, seconds, llm_logits)
        found = [Said(seconds=seconds)] * len(rows)
        for members in groups:
            at = to_device(members, logits.device)
            some = self._say([rows[m] for m in members], hidden[at], logits[at], seconds, llm_logits)
            for m, said in zip(members, some, strict=True):
                found[m] = said
        return found

    def _say(
        self,
        rows: Sequence[RoutedSequence],
        hidden: Tensor,
        logits: Tensor,
        seconds: float,
        llm_logits: Mapping[RoutedSequence, Tensor],
    ) -> list[Said]:
        """What comes after the texts of one router's sequences, of these states [B, H] and logits [B, V]."""
        router = rows[0].router
        features = RouterFeatures(hidden, logits, **sequence_features(router, rows, self._prompt_hidden))
        if router.reads_llm:
            features = replace(features, llm_logits=torch.cat([llm_logits[s] for s in rows]))
        start = time.perf_counter()
        scores, error = scored(router, features, len(rows))
        router_s = time.perf_counter() - start
        log_probs = features.log_probs if any(s.with_candidates for s in rows) else None
        found, (confidences,) = choose_rows(self._pair, "SLM", logits, log_probs, rows, scores)
        if is_away(scores):  # it is only now that the router has done its work
            router_s = time.perf_counter() - start
        router_s /= len(rows)
        for said, confidence in zip(found, confidences, strict=True):
            said.seconds, said.router_s = seconds, router_s
            said.score(confidence, router, error)
        return found


def sequence_features(
    router: Router, rows: Sequence[RoutedSequence], prompt_hidden: Tensor, places: Sequence[int] | None = None
) -> dict[str, Tensor]:
    """What `RouterFeatures` have of the sequences themselves, where the router uses it.

    Args:
        router: who is to look at it.
        rows: B sequences.
        prompt_hidden: [*, H], among others the states at the ends of their prompts.
        places: of each sequence, which of these; None takes those of the slots.
    """
    found: dict[str, Tensor] = {}
    device = prompt_hidden.device
    if router.uses_sequence:
        lists = places or [s.slot for s in rows], [s.key for s in rows], [s.n_written for s in rows]
        at, found["sequence_key"], found["position"] = lists_to_device(lists, device)
        found["prompt_hidden"] = prompt_hidden.index_select(0, at)
    if router.uses_llm_entropy:
        found["llm_entropy"] = torch.tensor([s.llm_entropy for s in rows], device=device)
    return found


def scored(router: Router, features: RouterFeatures, n: int) -> tuple[Tensor, Exception | None]:
    """[n] confidences, or why there are none: routers are plug-ins, and one that fails ends its own sequences."""
    try:
        scores = router.confidence(features)
        assert scores.shape == (n,), f"{router.name}: {tuple(scores.shape)} for {n} positions"
    except Exception as error:
        return torch.zeros(n), error
    return scores, None


def by_router(rows: Sequence[RoutedSequence], which: Sequence[int]) -> list[list[int]]:
    """Those of the rows that each router scores."""
    groups: dict[int, list[int]] = {}
    for row in which:
        groups.setdefault(id(rows[row].router), []).append(row)
    return list(groups.values())


class ComputedLlm(Computed, LlmSide):
    """The loaded LLM with the caches of several sequences; see `LlmSide`.

    Args:
        pair: whose LLM it is.
        n_slots: sequences.
        reuses: see `Reader`.
    """

    def __init__(self, pair: ModelPair, n_slots: int, *, reuses: bool = True) -> None:
        super().__init__(pair, Reader(pair.local_llm, n_slots, reuses=reuses))
        self._reuses = reuses

    def read(self, rows: Sequence[RoutedSequence], uptos: Sequence[int]) -> list[Said]:
        """See `LlmSide`."""
        n_last = [_n_asked(s, upto) for s, upto in zip(rows, uptos, strict=True)]
        _, logits, seconds = self._pass(rows, uptos, n_last if max(n_last) > 1 else None)
        spans: list[Span | None] = [None] * len(rows)
        if any(s.take_back is not None for s in rows):
            of_rows = logits.split(n_last)
            spans = [_span(*one) for one in zip(rows, uptos, of_rows, strict=True)]
            logits = torch.cat([some[-1:] for some in of_rows])
        if not self._reuses:
            for s in rows:
                s.llm.n_read = 0
        with_candidates = any(s.with_candidates for s in rows)
        with_entropy = any(s.router.uses_llm_entropy for s in rows)
        log_probs = torch.log_softmax(logits.float(), dim=-1) if with_candidates or with_entropy else None
        entropy = (entropy_of(log_probs),) if with_entropy and log_probs is not None else ()
        found, numbers = choose_rows(self._pair, "LLM", logits, log_probs if with_candidates else None, rows, *entropy)
        for row, (s, said) in enumerate(zip(rows, found, strict=True)):
            said.seconds = seconds
            said.span = spans[row]
            if said.span is not None and not said.span.is_sound:
                said.error = not_a_number("LLM")
            if entropy and s.router.uses_llm_entropy:
                said.number = numbers[0][row]
            if s.router.reads_llm:
                said.logits = logits[row : row + 1]
        return found


def _n_asked(s: RoutedSequence, upto: int) -> int:
    """At how many of the last positions of a text the LLM is asked: before each token that it may take back."""
    return 1 if s.take_back is None or s.waiting is None else max(1, upto - s.n_heard + 1)


def _span(s: RoutedSequence, upto: int, logits: Tensor) -> Span | None:
    """What the LLM says of the tokens that it may take back, of its logits [n, V] before each of them."""
    if s.take_back is None or s.waiting is None or upto < s.n_heard:
        return None
    first, place = s.n_heard - s.n_judged, s.n_heard - s.n_prompt
    chosen = chosen_tokens(logits, s.settings, range(place, place + len(logits)))
    steps = s.in_question()[first : first + len(logits)]
    token_ids = to_device([step.token_id for step in steps], logits.device)
    log_probs = torch.log_softmax(logits.float(), dim=-1)
    of_both = (log_probs.gather(-1, ids[:, None]).view(-1) for ids in (token_ids, chosen))
    ids, log_of_tokens, log_of_chosen = to_host(chosen, *of_both)
    return Span(log_of_tokens, ids, log_of_chosen, logits)
