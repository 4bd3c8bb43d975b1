"""`arena`: every router and rule in one currency, and routers of one's own among them."""

from __future__ import annotations

import argparse
from pathlib import Path

from citer_core.cli.command import Allowed, command, flag_of, given, option
from citer_core.cli.model_arguments import MODELS, ROUTER_HELP, load_engine, router_name
from citer_core.cli.terminal import say, text_table
from citer_core.errors import SettingError

_COST = Allowed(lambda number: 0 < number <= 1, "a number above 0, up to 1")


@command(
    "arena",
    "every router at equal bytes, yours among them",
    "Says which share of the gap between SLM and LLM each contender recovers at equal bytes, from the stored evidence; "
    "routers that are named are measured on the same problems first.",
    option("--routers NAME", f"each is {ROUTER_HELP}", nargs="+"),
    option("--work-dir DIR", "where their answers are kept; the same command resumes", type=Path),
    option("--bytes S", "of those of the LLM's own answers (0.2)", allowed=_COST),
    option("--passes S", "at equal passes of the LLM instead, a kept token", allowed=_COST),
    MODELS,
    epilog="""A router of one's own is a class in citer_core/routing/routers/, or a card of train-router.

example:
  python -m citer_core arena --routers routers/mine.json --work-dir work
""",
)
def arena(args: argparse.Namespace) -> None:
    """Prints a table for each kind of problem, the contender that recovers most first.

    Raises:
        CiterError: wrong arguments, before anything is loaded; or nothing is stored of the pair.
    """
    if args.bytes is not None and args.passes is not None:
        raise SettingError("--bytes and --passes are two currencies: give one of them.")
    if (args.routers is None) != (args.work_dir is None):
        raise SettingError("--routers and --work-dir go together: give both, or none to see what is stored.")
    if args.routers is None:
        for name in given(args, "pair", "dtype", "device"):
            raise SettingError(f"{flag_of(name)}: use this with --routers; without them no model is loaded.")
    from citer_core.evidence.arena import arenas
    from citer_core.evidence.regimes import regimes

    known = list(regimes())
    regime = known[0]
    mine: set[str] = set()
    if args.routers is not None:
        from citer_core.evidence.contender import measured_among

        names = [router_name(asked) or asked for asked in args.routers]
        engine = load_engine(args, *args.routers)
        regime = measured_among(known, engine, names, args.work_dir, say)
        mine = {f"{engine.router(name).label}, here" for name in names}
    at = args.passes or args.bytes or 0.2
    what = "passes of the LLM, a kept token" if args.passes else "the bytes of the LLM's own answers"
    print(f"{regime.title}: share of the gap recovered at {at:.0%} of {what}, and less the other two, in points")
    for one in arenas(regime):
        head = (f"{one.kind}, n = {one.n:,}", "gap", "95% interval", *(f"less {label}" for label in one.held_against))
        rows = [
            [
                f"{'> ' if standing.label in mine else ''}{standing.label}",
                f"{standing.gap:.1%}",
                f"{standing.low:.0%} to {standing.high:.0%}",
                *(
                    "{:+.0f} ({:+.0f} to {:+.0f})".format(*(100 * end for end in standing.less[label]))
                    if label in standing.less
                    else ""
                    for label in one.held_against
                ),
            ]
            for standing in one.standings(at, by_passes=args.passes is not None)
        ]
        print(f"\n{text_table(head, rows)}" if rows else f"\n{one.kind}: no contender can be so cheap; ask for more.")
