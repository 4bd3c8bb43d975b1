"""What a wrong decision costs: every token whose writer mattered is given to the other model, one at a time.

In the answers of a router at its tau, a token is in question where the two models would write different ones. Flipped,
the answer goes on under the same router, and is marked. Knows nothing about training.
"""

from __future__ import annotations

from typing import Any

from citer_core.engine import Engine
from citer_core.evidence.plan import EvidencePlan
from citer_core.labelling.rollouts import Policy, Start, disagreements, roll_out
from citer_core.labelling.teacher_forcing import Example, teacher_force
from citer_core.tasks.prompts import DataType
from citer_core.types import DecodeSettings


def flip_decisions(engine: Engine, router: str, threshold: float, data_type: DataType, plan: EvidencePlan) -> Any:
    """The entry of one format in the stored part `misjudged`.

    Args:
        engine: pair and routers.
        router, threshold: whose decisions.
        data_type: of the problems, the first of the test's.
        plan: how many problems, and how is decoded.

    Returns:
        How many answers each kind of flip lost or won: `to_slm` gives a token of the LLM to the SLM, `to_llm` one of
        the SLM to the LLM.
    """
    problems = plan.test(data_type).problems[: plan.n_flipped]
    settings = DecodeSettings(threshold=threshold, max_new_tokens=plan.max_new_tokens)
    traces = dict(engine.run_batch(problems, router=router, settings=settings, batch_size=plan.batch_size))
    examples = [
        Example(problem, engine.pair.encode(problem.prompt), [event.token_id for event in traces[i].events])
        for i, problem in enumerate(problems)
    ]
    starts, to_llm = [], []
    for number, truth in enumerate(teacher_force(engine.pair, examples)):
        for position in disagreements(truth):
            by_slm = traces[number].events[position].source == "slm"
            other = truth.llm_ids if by_slm else truth.slm_ids
            starts.append(Start(number, position, (int(other[position]),)))
            to_llm.append(by_slm)
    policy = Policy(engine.router(router), threshold, plan.max_new_tokens, plan.batch_size)
    answers = [traces[i].answer for i in range(len(problems))]
    was_right = [bool(answer and answer.is_correct) for answer in answers]
    counts = {True: [0, 0, 0], False: [0, 0, 0]}  # n, lost, won
    for k, outcome in roll_out(engine.pair, examples, starts, policy):
        before, count = was_right[starts[k].example], counts[to_llm[k]]
        count[0] += 1
        count[1] += before and not outcome.is_correct
        count[2] += outcome.is_correct and not before
    names = ("n", "n_lost", "n_won")
    return {
        "router": router,
        "threshold": threshold,
        "n_problems": len(problems),
        "n_right": sum(was_right),
        "n_tokens": sum(trace.n_tokens for trace in traces.values()),
        "n_llm_tokens": sum(trace.n_llm_tokens for trace in traces.values()),
        "to_slm": dict(zip(names, counts[False], strict=True)),
        "to_llm": dict(zip(names, counts[True], strict=True)),
    }
