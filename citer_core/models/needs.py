"""`PairNeeds`: what it takes to load a pair: bytes to fetch, a conversion, memory. Known before anything is read.

Asks what is on this machine, never the hub; imports no torch. Called by the page's pair picker.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from citer_core.config import cache_folder
from citer_core.models import store
from citer_core.models.memory import model_bytes
from citer_core.models.presets import known_disk_bytes, parse_pair, preset_model
from citer_core.models.sources import CONVERSION, GgufSource, ModelSource

ON_TOP = 1.1  # activations and the framework, of weights and cache
# Unpacking a GGUF file holds its weights in float32, and once more while they are rounded and written.
UNPACKING_BYTES_PER_PARAM = 6
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class PairNeeds:
    """What loading takes.

    Attributes:
        n_missing: models of the two that are not on this machine.
        fetch_bytes: to download; 0 where everything is here, None where only the hub knows.
        converts: GGUF weights have to be unpacked first, once, which takes minutes.
        memory_bytes: of both models once loaded, about a tenth on top included; None where their size is not known.
        peak_bytes: the most at any time while loading, at least `memory_bytes`.
    """

    n_missing: int
    fetch_bytes: int | None
    converts: bool
    memory_bytes: int | None
    peak_bytes: int | None


def needs_of(pair: str, dtype: str, llm_quantization: str | None = None) -> PairNeeds:
    """What loading `pair` takes.

    Args:
        pair: as for `load_pair`.
        dtype: `float32`, `bfloat16` or `float16`; or `auto`, which is counted as the float32 that it may become.
        llm_quantization: see `PairOptions`.

    Raises:
        PairError: an unknown pair, dtype or quantization.
    """
    dtype = "float32" if dtype == AUTO else dtype
    choice = parse_pair(pair)
    sources = (choice.slm, choice.llm)
    paths = [store.find(source) for source in sources]
    missing = list(dict.fromkeys(source for source, path in zip(sources, paths, strict=True) if path is None))
    fetched = [known_disk_bytes(source) for source in missing]
    models = [preset_model(source) for source in sources]
    unpacked = [_to_unpack(source, path, dtype) for source, path in zip(sources, paths, strict=True)]
    memory = peak = None
    slm, llm = models
    if slm is not None and llm is not None:
        weights = model_bytes(slm.spec, dtype) + model_bytes(llm.spec, dtype, llm_quantization)
        memory = peak = round(ON_TOP * weights)
        for model, is_unpacked in zip((slm, llm), unpacked, strict=True):
            if is_unpacked:
                peak = max(peak, model.spec.n_params * UNPACKING_BYTES_PER_PARAM)
    return PairNeeds(
        n_missing=len(missing),
        fetch_bytes=None if None in fetched else sum(n_bytes or 0 for n_bytes in fetched),
        converts=any(unpacked),
        memory_bytes=memory,
        peak_bytes=peak,
    )


def _to_unpack(source: ModelSource, path: Path | None, dtype: str) -> bool:
    """Whether a GGUF file has not been converted to this dtype yet; told by name, without hashing the file."""
    if not isinstance(source, GgufSource):
        return False
    stem = Path(source.file_name if path is None else path.name).stem
    return not any((cache_folder() / "converted").glob(f"{stem}-*-{dtype}-{CONVERSION}/citer.json"))
