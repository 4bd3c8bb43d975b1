"""What a profile says, in words and in tables of text: for the command line and the page alike. No torch.

Derived from the numbers each time, never stored, so a stored profile cannot say what its numbers do not.
"""

from __future__ import annotations

from dataclasses import dataclass

from citer_core.measuring.profile_numbers import Crossing, ModelProfile, Profile, RunCheck, measured_crossing
from citer_core.measuring.step_cost import MAX_BATCH


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class BigNumber:
    """One of the numbers that lead: what it is, and how it is known."""

    value: str
    label: str
    note: str


def big_numbers(profile: Profile) -> list[BigNumber]:
    """Up to where routing pays, then how often it is needed."""
    found, agreement = crossings(profile), profile.agreement
    if agreement is not None:
        note = f"measured on {agreement.n_tokens:,} tokens"
        found.append(BigNumber(f"{agreement.needed_share:.1%}", "of the tokens: the two models disagree", note))
    return found


def crossings(profile: Profile) -> list[BigNumber]:
    """Up to which LLM share routing pays: what was measured first, then what the fit says."""
    even, crossing = profile.break_even, measured_crossing(profile.check)
    found = []
    if crossing is not None:
        limit, _ = _limit(profile, crossing)
        note = "measured" if crossing.at is None else f"measured, {_between(crossing)}"
        found.append(BigNumber(f"{limit:.0%}", "LLM tokens up to which real runs save time", note))
    found.append(BigNumber(f"{even.time:.0%}", "where the fitted costs of single passes cross", "a fit, an estimate"))
    found.append(BigNumber(f"{even.bytes:.0%}", "LLM tokens up to which fewer bytes move", "an estimate"))
    return found


def headline(profile: Profile) -> str:
    """The answer in one sentence: what real runs took first, then what the fit says."""
    even, agreement = profile.break_even, profile.agreement
    crossing = measured_crossing(profile.check)
    limit, where = _limit(profile, crossing)
    if limit == 0:
        return f"Routing is not worth it here: it takes longer than the LLM alone at any LLM share ({where})."
    if agreement is None:
        return (
            f"Routing saves time here {_up_to(crossing, limit)} ({where}; bytes, estimated: below {even.bytes:.0%}). "
            "These weights are random: how often two real models of these sizes disagree is not known."
        )
    needed = agreement.needed_share
    if needed >= limit:
        return (
            f"Routing is not worth it here: it saves time only {_up_to(crossing, limit)} ({where}), and the two models "
            f"disagree on {needed:.0%} of the tokens."
        )
    return (
        f"Routing is worth it here: it saves time {_up_to(crossing, limit)} ({where}), and the two models disagree on "
        f"{needed:.1%} of the tokens."
    )


def _limit(profile: Profile, crossing: Crossing | None) -> tuple[float, str]:
    """The LLM share up to which time is saved, and how that is known."""
    fit = profile.break_even.time
    by_fit = f"the fit, an estimate, says {fit:.0%}"
    if crossing is None:
        return fit, f"by the fit, an estimate: {fit:.0%}; no run was measured"
    if crossing.saves_at is None:
        return 0.0, f"every measured run did; {by_fit}"
    if crossing.at is None:
        return crossing.saves_at, f"every measured run did; {by_fit}"
    return crossing.at, f"measured, {_between(crossing)}; {by_fit}"


def _between(crossing: Crossing) -> str:
    return f"between {crossing.low:.0%} and {crossing.high:.0%}"


def _up_to(crossing: Crossing | None, limit: float) -> str:
    if crossing is not None and crossing.at is None:
        return f"at every share of LLM tokens that was run, up to {limit:.0%}"
    return f"up to {'about ' if crossing else ''}{limit:.0%} LLM tokens"


def crossing_sentence(profile: Profile) -> str:
    """What the measured crossing is, and why the fit says something else; empty where nothing was measured."""
    crossing, fit = measured_crossing(profile.check), profile.break_even
    if crossing is None or crossing.at is None:
        return ""
    return (
        f"Measured: with {crossing.saves_at:.0%} LLM tokens real runs still take less time than the LLM alone, with "
        f"{crossing.loses_at:.0%} more; {crossing.at:.0%} is a straight line between the two. Fitted: the costs of "
        f"single passes cross at {fit.time:.0%}, for one step at {fit.n_context} tokens of context; a run has its "
        f"prompt to read, and more around its passes. Bytes, an estimate: saved below {fit.bytes:.0%}."
    )


def copy_sentence(profile: Profile) -> str:
    """Why copies of several sizes have several bandwidths, and which one a model is held against."""
    copies = profile.probe.copy
    said = ", ".join(f"{_size(copy.n_bytes)} at {_gb(copy.bytes_per_s)} GB/s" for copy in copies)
    small, large = copies[0].bytes_per_s, copies[-1].bytes_per_s
    if small > 1.2 * large:
        why = "what is small stays in the processor's caches, the largest copy goes through main memory"
    elif large > 1.2 * small:
        why = "a small copy is over before the memory is busy"
    else:
        why = "the size makes little difference here"
    return (
        f"Bandwidth depends on how much is copied: {said}; {why}. Each model is held against the copy of about its own "
        "weights."
    )


def _gb(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f}"


def _size(n_bytes: int) -> str:
    return f"{_gb(n_bytes)} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:.1f} MB"


def sentences(profile: Profile) -> list[str]:
    """The reasons and the limits, one sentence or two each."""
    even, agreement = profile.break_even, profile.agreement
    costs, context = profile.costs, even.n_context
    paid = costs.slm.seconds(1, context) + costs.router_s
    alone = costs.llm.seconds(1, context)
    said = [sentence] if (sentence := crossing_sentence(profile)) else []
    said += [
        f"At {context} tokens of context the SLM and the router take {_ms(paid)} a token, the LLM {_ms(alone)}, of "
        f"which {_ms(costs.llm.per_token_s)} is paid for each token fed in any case. The break-even is where what is "
        "saved on the LLM's passes pays for the SLM's.",
        f"The SLM is {profile.slm.bound}-bound: {profile.slm.reason}.",
        f"The LLM is {profile.llm.bound}-bound: {profile.llm.reason}.",
        copy_sentence(profile),
    ]
    if agreement is not None:
        said.append(
            f"On true prefixes the SLM's first choice is the LLM's for {agreement.slm_is_llm:.1%} of "
            f"{agreement.n_tokens:,} tokens and the true token for {agreement.slm_is_truth:.1%} (the LLM: "
            f"{agreement.llm_is_truth:.1%}). A router that knew where they differ would need the LLM for "
            f"{agreement.needed_share:.1%}; a real one needs more."
        )
    return said + limits(profile)


def limits(profile: Profile) -> list[str]:
    """When not to use routing with this pair on this device."""
    even, agreement = profile.break_even, profile.agreement
    said = []
    if agreement is not None and agreement.needed_share >= _limit(profile, measured_crossing(profile.check))[0]:
        said.append(
            "The SLM is too weak or too slow for this LLM: fine-tune it, or choose one that agrees more or is smaller."
        )
    if profile.llm.bound == "compute":
        said.append(
            "The LLM's steps are compute-bound, so catching up costs almost as much as writing did: routing saves "
            "little."
        )
    if profile.slm.bound == "overhead":
        said.append(
            "The SLM's steps are mostly overhead, so a smaller SLM would not be faster here: the bytes saved are more "
            "than the time saved."
        )
    largest = even.largest_batch
    if largest is None:
        return said
    if largest == 0:
        said.append("At the share that this pair needs, routing takes longer even for one sequence.")
    elif largest < MAX_BATCH:
        said.append(
            f"Not for large batches: by this fit (an estimate), {largest} sequences in lockstep still save time at the "
            f"share that this pair needs, {2 * largest} do not, because an LLM pass is then shared by all."
        )
    else:
        said.append(
            f"By this fit (an estimate) even {MAX_BATCH:,} sequences in lockstep save time at the share that this pair "
            "needs: it is small, and contexts are read once for each sequence."
        )
    return said


def tables(profile: Profile) -> list[Table]:
    """The numbers: parts, break-evens and the check of the prediction."""
    even, context, costs, copies = profile.break_even, profile.break_even.n_context, profile.costs, profile.probe.copy
    other = (
        (f"router ({profile.router.name})", _ms(costs.router_s)),
        ("the rest of a step", _ms(costs.loop_s)),
        ("added by a call of the LLM", _ms(costs.switch_s)),
    )
    passes = Table(f"A forward pass at {context} tokens of context (measured, fitted)", (
        "model", "parameters", "one token", "fixed", "per token fed", "per 1,000 of context", "fit off by",
        "GB/s, of a copy of its size", "bound by",
    ), (_pass_row("SLM", profile.slm, context), _pass_row("LLM", profile.llm, context)))  # fmt: skip
    contexts = tuple((f"{row.n_context:,}", f"{row.time:.1%}", f"{row.bytes:.1%}") for row in even.by_context)
    batches = tuple((str(row.batch_size), f"{row.time:.1%}") for row in even.by_batch)
    check = ("run", "tokens/s measured", "predicted", "predicted time", "time of LLM alone: measured", "predicted")
    return [
        passes,
        Table("Beside the models (measured)", ("part", "time"), other),
        Table(
            "Copies (measured)", ("bytes", "GB/s"), tuple((f"{one.n_bytes:,}", _gb(one.bytes_per_s)) for one in copies)
        ),
        Table("Saves up to this LLM share (estimated)", ("context", "time", "bytes"), contexts),
        Table("Time, for sequences in lockstep (estimated)", ("sequences", "up to LLM share"), batches),
        *_products(profile),
        Table("The prediction against real decoding", check, tuple(map(_check_row, profile.check))),
    ]


def _pass_row(name: str, model: ModelProfile, context: int) -> tuple[str, ...]:
    fit = model.fit
    return (
        name,
        f"{model.n_params:,}",
        _ms(fit.seconds(1, context)),
        _ms(fit.fixed_s),
        _ms(fit.per_token_s),
        _ms(1000 * fit.per_context_s),
        f"{fit.error:.0%}",
        f"{model.achieved_bytes_per_s / 1e9:.2f} of {model.copy_bytes_per_s / 1e9:.2f}",
        model.bound,
    )


def _check_row(row: RunCheck) -> tuple[str, ...]:
    return (
        row.run,
        f"{row.measured_tokens_per_s:,.0f}",
        f"{row.predicted_tokens_per_s:,.0f}",
        f"{row.gap:+.0%}",
        f"{row.measured_of_llm_alone:.2f}",
        f"{row.predicted_of_llm_alone:.2f}",
    )


def _products(profile: Profile) -> list[Table]:
    """Which product of few rows is the fastest here; profiles from before it was measured do not say."""
    rows = tuple(
        (model.upper(), line.kind, str(line.rows), line.way, ", ".join(f"{k} {v:g}" for k, v in line.gb_per_s.items()))
        for model, lines in (profile.probe.products or {}).items()
        for line in lines
    )
    head = ("model", "matrix", "up to rows", "fastest", "GB/s")
    title = "Products of few rows in bfloat16 (measured, the fastest is taken)"
    return [Table(title, head, rows)] if rows else []


def provenance(profile: Profile) -> str:
    """Where and when it was measured, by which command."""
    clock = {
        "thread": "time of one thread, which does not count while other programs have the core",
        "wall": "wall-clock time",
    }
    sheet = profile.probe.data_sheet_bytes_per_s
    stated = f" Its memory moves {sheet / 1e9:,.0f} GB/s by the data sheet." if sheet else ""
    return (
        f"Measured {profile.date} on {profile.hardware} ({profile.device}, {profile.dtype}) with "
        f"`{profile.command}`; medians, {clock[profile.clock]}.{stated}"
    )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.3f} ms" if seconds < 0.01 else f"{1000 * seconds:.1f} ms"
