"""`SharedDecoder`: the runs of many visitors decoded together by one thread, each with the tokens that it has alone.

    decoder = SharedDecoder(engine)
    decoder.submit(engine.start(problem, settings=settings))    # returns at once; look at the run

The caller of `submit` holds a lease on the engine until the run has ended, and closes the decoder when it makes way
for another. The decoder itself keeps no engine: a run that is under way keeps its models, and an idle decoder keeps
none. Events are only appended to a run, so a slow reader does not hold up others. Knows nothing about
sessions, fairness or pages: the caller decides whose run comes next, and `n_free` says when.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import torch

from citer_core.errors import CiterError
from citer_core.models.kv_cache import capacity_for
from citer_core.models.pair import ModelPair
from citer_core.models.remote_lm import RemoteLM
from citer_core.routing.decoder import Decoder
from citer_core.routing.pace import Pace
from citer_core.routing.sequence import RoutedSequence
from citer_core.run import Run
from citer_core.system_memory import give_back
from citer_core.types import FinishReason

logger = logging.getLogger(__name__)
UNEXPECTED = "Something went wrong on the server and this run ended early; the server's log says what. Try again."
# New tokens that a pass reads of prompts: about what the passes of a full batch take for a few tokens each.
READ_TOKENS = 256
# Of both models' caches together. A batch has room for its longest text in every slot, so that with long ones it has
# fewer slots.
MOST_CACHE_BYTES = 2 << 30
# How long caches are kept for the next run, when the last one has ended.
IDLE_S = 5.0
# Runs that decode elsewhere (ZeroGPU) at the same time; each of them waits for a GPU in a thread of its own.
N_ELSEWHERE = 4
CLOSED = "The pair was changed before this run began: generate it again."
OUT_OF_MEMORY = (
    "The server ran out of memory, and the runs that were under way ended early. Try again in a moment, with a shorter "
    "text or fewer new tokens."
)


def end_with(run: Run, error: Exception) -> None:
    """Ends a run because of an error: in its words, if it was made for people, else it is only logged."""
    if isinstance(error, CiterError):
        run.finish("error", str(error))
        return
    logger.error("run %s failed", run.id[:6], exc_info=error)
    run.finish("error", UNEXPECTED)


class Lanes:
    """Some runs of one pair that go on together, one token or none each from every step; belongs to one thread.

    An error of one run ends that run; what cannot be put down to one is raised, and the caller lets all of them go with
    `drop`.

    Args:
        pair: whose runs they are.
        n_slots: the most runs at once.
        n_positions: tokens that the longest of the first runs may come to; see `MOST_CACHE_BYTES`.

    Attributes:
        n_lanes: how many there may be.
    """

    def __init__(self, pair: ModelPair, n_slots: int, n_positions: int) -> None:
        self.n_lanes = max(1, min(n_slots, MOST_CACHE_BYTES // _slot_bytes(pair, n_positions)))
        self._pair = pair
        # All of them in every pass: of the bundled pair that took four fifths of the processor's time of 16, and nine
        # tenths of 32 of which 16 are in a pass.
        self._decoder = Decoder(pair, self.n_lanes, Pace(batch_size=self.n_lanes, read_tokens=READ_TOKENS))
        self._runs: dict[RoutedSequence, Run] = {}

    @property
    def n_live(self) -> int:
        """Runs that have not ended."""
        return len(self._runs)

    def fits(self, run: Run) -> bool:
        """Whether a slot is free and the caches may grow to what this run may come to."""
        most = MOST_CACHE_BYTES // _slot_bytes(self._pair, n_positions_of(run, self._pair))
        return self._decoder.n_free > 0 and (self.n_lanes <= most or self.n_lanes == 1)

    def start(self, run: Run) -> None:
        """Takes a run in that has begun; ends it, with the reason, where its prompt or fork cannot be decoded."""
        assert run.pair is self._pair and run.router is not None, "a run of another pair, or one that has ended"
        try:
            sequence = self._decoder.admit(
                run.prompt_ids,
                run.router,
                run.settings,
                fork=run.fork,
                is_cancelled=run.is_cancelled,
                with_candidates=True,
            )
        except CiterError as error:
            run.finish("error", str(error))
            return
        self._runs[sequence] = run

    def step(self) -> None:
        """A token for every run, or for most."""
        for sequence in self._decoder.step():
            run = self._runs[sequence]
            try:
                run.record(sequence.new_events(self._pair))
            except Exception as error:  # of the text of one run: no other has to do with it
                self._decoder.cancel(sequence)
                end_with(run, error)
            if sequence.error is not None:
                end_with(run, sequence.error)
            elif sequence.finish_reason is not None:
                run.finish(sequence.finish_reason)
            if sequence.finish_reason is not None:
                del self._runs[sequence]

    def drop(self, reason: FinishReason, error: str | None) -> None:
        """Ends all of them."""
        for run in self._runs.values():
            run.finish(reason, error)
        self._runs.clear()
        self._decoder.close()


def n_positions_of(run: Run, pair: ModelPair) -> int:
    """Tokens that a run may come to, its prompt included."""
    return min(len(run.prompt_ids) + run.settings.max_new_tokens, pair.max_context)


def _slot_bytes(pair: ModelPair, n_positions: int) -> int:
    """Bytes of one slot in both models' caches, with room for so many positions: caches grow by doubling."""
    specs = [pair.info.slm] if isinstance(pair.llm, RemoteLM) else [pair.info.slm, pair.info.llm]
    return capacity_for(n_positions) * sum(spec.kv_bytes_per_token for spec in specs)


class SharedDecoder:
    """One thread that decodes the runs of one engine; it sleeps while there are none.

    A pass that fails ends the runs that were in it, with an error in words, and the next ones begin with fresh caches.

    Args:
        engine: whose runs are submitted; it is seen when it goes.
        n_slots: runs at once; those beyond wait for a free slot in the order in which they came.
    """

    def __init__(self, engine: object, *, n_slots: int = 32) -> None:
        assert n_slots >= 1, "no run could ever be decoded"
        self._n_slots = n_slots
        self._changed = threading.Condition()
        self._queue: deque[Run] = deque()
        self._has_no_room = False  # for the first of the queue, though a slot may be free
        self._lanes: Lanes | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False  # ends what is under way
        self._is_left = False  # the engine is gone: ends when nothing is under way
        self._elsewhere: ThreadPoolExecutor | None = None
        self._n_elsewhere = 0
        weakref.finalize(engine, _leave, weakref.ref(self)).atexit = False

    @property
    def n_free(self) -> int:
        """Runs that would begin at once if they were submitted now."""
        with self._changed:
            if self._n_elsewhere:
                return max(0, N_ELSEWHERE - self._n_elsewhere)
            if self._queue and self._has_no_room:
                return 0
            lanes = self._lanes
            n_lanes, n_live = (lanes.n_lanes, lanes.n_live) if lanes is not None else (self._n_slots, 0)
            return max(0, (n_lanes if n_live else self._n_slots) - n_live - len(self._queue))

    @property
    def n_live(self) -> int:
        """Runs that were submitted and have not ended."""
        with self._changed:
            return self._n_elsewhere + len(self._queue) + (self._lanes.n_live if self._lanes is not None else 0)

    def submit(self, run: Run) -> None:
        """Takes a run that has not begun and returns at once; its events appear in it as they are decoded.

        Where it cannot be decoded, it ends with reason `error` and says why.
        """
        run.begin()
        with self._changed:
            if not (was_closed := self._is_closed):
                self._take(run)
        if was_closed:
            run.finish("error", CLOSED)

    def _take(self, run: Run) -> None:
        """With the lock held."""
        if run.remote is not None:
            if self._elsewhere is None:
                self._elsewhere = ThreadPoolExecutor(N_ELSEWHERE, thread_name_prefix="decoder-elsewhere")
            self._n_elsewhere += 1
            self._elsewhere.submit(self._decode_elsewhere, run)
            return
        self._queue.append(run)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="decoder", daemon=True)
            self._thread.start()
        self._changed.notify_all()

    def close(self, timeout_s: float = 5.0) -> None:
        """Ends the thread, and as cancelled what is under way; may be called twice, and not from the thread itself.

        Args:
            timeout_s: how long to wait for the pass that is going on.
        """
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
            thread, elsewhere = self._thread, self._elsewhere
        if thread is not None:
            thread.join(timeout_s)
        if elsewhere is not None:
            elsewhere.shutdown(wait=False, cancel_futures=False)

    # ------------------------------------------------------------ the thread

    def _work(self) -> None:
        while self._has_work():
            try:
                self._admit()
                if self._lanes is not None:
                    self._lanes.step()
            except Exception as error:
                logger.exception("a pass failed, and ends the runs that were in it")
                self._drop("error", OUT_OF_MEMORY if _is_out_of_memory(error) else UNEXPECTED)
        self._drop("cancelled", None)

    def _has_work(self) -> bool:
        """Waits for runs; False where there will be none any more. Lets go of the caches after a while."""
        with self._changed:
            while not self._is_closed:
                if self._queue or (self._lanes is not None and self._lanes.n_live):
                    return True
                if self._is_left:
                    self._thread = None  # a run that is still held elsewhere starts another
                    return False
                if not self._changed.wait(IDLE_S if self._lanes is not None else None):
                    break
            else:
                return False
        self._drop("cancelled", None)
        return self._has_work()

    def _admit(self) -> None:
        """Takes in as many of those that wait as there is room for."""
        self._end_cancelled()
        while self._queue:  # only this thread takes runs out of it
            run = self._queue[0]
            try:
                if self._lanes is None or (not self._lanes.n_live and not self._lanes.fits(run)):
                    assert run.pair is not None, "only an ended run has let it go"
                    self._lanes = Lanes(run.pair, self._n_slots, n_positions_of(run, run.pair))
                self._has_no_room = not self._lanes.fits(run)
                if self._has_no_room:
                    return
                self._lanes.start(run)
            except Exception as error:
                end_with(run, CiterError(OUT_OF_MEMORY) if _is_out_of_memory(error) else error)
            with self._changed:
                self._queue.popleft()

    def _end_cancelled(self) -> None:
        """Those that were cancelled while they waited."""
        if any(run.is_cancelled() for run in list(self._queue)):
            with self._changed:
                cancelled = [run for run in self._queue if run.is_cancelled()]
                self._queue = deque(run for run in self._queue if run not in cancelled)
            for run in cancelled:
                run.finish("cancelled")

    def _drop(self, reason: FinishReason, error: str | None) -> None:
        """Ends all that is under way and lets go of its memory; where it is closed, of those that wait too."""
        with self._changed:
            lanes, self._lanes = self._lanes, None
            waiting = list(self._queue) if self._is_closed else []
            if self._is_closed:
                self._queue.clear()
        if lanes is not None:
            lanes.drop(reason, error)
            del lanes
            give_back()
        for run in waiting:
            run.finish("error", CLOSED)

    def _decode_elsewhere(self, run: Run) -> None:
        """Decodes a run in another process, from a thread of its own."""
        try:
            steps = run.steps()
            while True:
                run.record([next(steps)])
        except StopIteration as stop:
            run.finish(stop.value)
        except Exception as error:
            end_with(run, error)
        finally:
            with self._changed:
                self._n_elsewhere -= 1


def _leave(decoder: weakref.ref[SharedDecoder]) -> None:
    """The engine is gone: its decoder ends with the last of its runs."""
    left = decoder()
    if left is not None:
        with left._changed:
            left._is_left = True
            left._changed.notify_all()


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and "allocate memory" in str(error)  # as torch says it on a processor
