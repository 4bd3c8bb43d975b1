"""The pairs that have a name: what they are made of, what they weigh, under which licence.

A table and the arithmetic on it; nothing here is loaded or fetched. Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from citer_core.assets import ASSETS
from citer_core.cost import LLAMA31_8B, LLAMA31_70B, QWEN2_1_5B, QWEN2_72B, ModelSpec
from citer_core.errors import PairError
from citer_core.gate.excerpt import excerpt
from citer_core.models.sources import FORMS, FolderSource, GgufSource, HubSource, ModelSource, parse_source
from citer_core.models.spec import model_bytes

EMBEDDED = "embedded"
APACHE = "Apache-2.0"
LLAMA = "Llama 3.1 Community (gated: accept it on the model's page)"
QIANWEN = "Tongyi Qianwen"


@dataclass(frozen=True, slots=True)
class PresetModel:
    """One model of a named pair.

    Attributes:
        source: where its weights are.
        spec: its numbers; `bytes_per_element` is that of the published weights.
        licence: of the weights.
    """

    source: ModelSource
    spec: ModelSpec
    licence: str = APACHE

    @property
    def disk_bytes(self) -> int:
        """Bytes of the weights as they are fetched; a checkpoint's headers and tokenizer add a few MB."""
        known = self.source.n_bytes if isinstance(self.source, GgufSource) else None
        return known or self.spec.n_params * self.spec.bytes_per_element


@dataclass(frozen=True, slots=True)
class Preset:
    """A named pair; `name` is for `--pair`, `title` for people, traces and router cards."""

    name: str
    title: str
    slm: PresetModel
    llm: PresetModel

    @property
    def disk_bytes(self) -> int:
        """Bytes that `fetch` downloads for it."""
        return self.slm.disk_bytes + self.llm.disk_bytes

    def memory_bytes(self, dtype: str = "bfloat16", llm_quantization: str | None = None) -> int:
        """Estimated bytes that both models occupy with a text of 2,048 tokens; see `model_bytes`."""
        return model_bytes(self.slm.spec, dtype) + model_bytes(self.llm.spec, dtype, llm_quantization)


def _hub(repo_id: str, spec: ModelSpec, licence: str = APACHE) -> PresetModel:
    return PresetModel(HubSource(repo_id), replace(spec, name=repo_id.rpartition("/")[2]), licence)


def _coder(size: str, spec: ModelSpec, sha256: str, n_bytes: int) -> PresetModel:
    name = f"qwen2.5-coder-{size}-instruct-q4_k_m.gguf"
    return PresetModel(GgufSource(name, f"Qwen/Qwen2.5-Coder-{size.upper()}-Instruct-GGUF", sha256, n_bytes), spec)


def _bundled(which: str, spec: ModelSpec) -> PresetModel:
    models = ASSETS / "models"
    return PresetModel(FolderSource(models / which, models / "tokenizer"), spec)


_QWEN25_0_5B = ModelSpec("Qwen2.5-0.5B", 494_032_768, 24, 14, 2, 64, 151_936, 896, True)
_QWEN2_7B = ModelSpec("Qwen2-7B", 7_615_616_512, 28, 28, 4, 128, 152_064, 3584, False)
# The vendor's GGUF files hold the output head beside the input table, each quantized in its own way: two tables.
_CODER_0_5B = ModelSpec("Qwen2.5-Coder-0.5B-Instruct", 630_167_424, 24, 14, 2, 64, 151_936, 896, False)
_CODER_1_5B = ModelSpec("Qwen2.5-Coder-1.5B-Instruct", 1_777_088_000, 28, 12, 2, 128, 151_936, 1536, False)

PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            EMBEDDED,
            "Bundled pair",
            _bundled("slm", ModelSpec("Bundled SLM", 443_520, 3, 3, 1, 32, 1536, 96, True, 4)),
            _bundled("llm", ModelSpec("Bundled LLM", 4_528_384, 6, 4, 2, 64, 1536, 256, True, 4)),
        ),
        Preset(
            "qwen2.5-coder-0.5b-1.5b",
            "Qwen2.5-Coder 0.5B / 1.5B",
            _coder(
                "0.5b", _CODER_0_5B, "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32", 491_400_064
            ),
            _coder(
                "1.5b", _CODER_1_5B, "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046", 1_117_320_768
            ),
        ),
        Preset(
            "qwen2.5-0.5b-7b",
            "Qwen2.5 0.5B / 7B",
            _hub("Qwen/Qwen2.5-0.5B-Instruct", _QWEN25_0_5B),
            _hub("Qwen/Qwen2.5-7B-Instruct", _QWEN2_7B),  # the shape of Qwen2-7B
        ),
        Preset(
            "qwen2-1.5b-7b",
            "Qwen2 1.5B / 7B",
            _hub("Qwen/Qwen2-1.5B-Instruct", QWEN2_1_5B),
            _hub("Qwen/Qwen2-7B-Instruct", _QWEN2_7B),
        ),
        Preset(
            "qwen2-1.5b-72b",
            "Qwen2 1.5B / 72B",
            _hub("Qwen/Qwen2-1.5B-Instruct", QWEN2_1_5B),
            _hub("Qwen/Qwen2-72B-Instruct", QWEN2_72B, QIANWEN),
        ),
        Preset(
            "llama3.1-8b-70b",
            "Llama 3.1 8B / 70B",
            _hub("meta-llama/Llama-3.1-8B-Instruct", LLAMA31_8B, LLAMA),
            _hub("meta-llama/Llama-3.1-70B-Instruct", LLAMA31_70B, LLAMA),
        ),
    )
}


@dataclass(frozen=True, slots=True)
class PairChoice:
    """What `--pair` means: two sources, and the name under which the pair goes."""

    name: str
    slm: ModelSource
    llm: ModelSource


def parse_pair(text: str) -> PairChoice:
    """Reads `--pair`: the name of a preset, or two sources as "SLM,LLM", of any two kinds.

    A half may be "embedded": the bundled SLM in the first place, the bundled LLM in the second. A folder of that
    name is "./embedded".

    Raises:
        PairError: it is neither.
    """
    preset = PRESETS.get(text.strip())
    if preset is not None:
        return PairChoice(preset.title, preset.slm.source, preset.llm.source)
    parts = text.split(",")
    if len(parts) != 2:
        raise PairError(
            f'Unknown pair {excerpt(text)}. Give one of {", ".join(PRESETS)}; or two models "SLM,LLM", each {FORMS}. '
            'A half may also be "embedded". The comma parts the two: a folder with one in its name has to be renamed.'
        )
    bundled = PRESETS[EMBEDDED]
    (slm_name, slm), (llm_name, llm) = (
        (model.spec.name, model.source) if part.strip() == EMBEDDED else _named(part)
        for part, model in zip(parts, (bundled.slm, bundled.llm), strict=True)
    )
    return PairChoice(f"{slm_name} / {llm_name}", slm, llm)


def known_disk_bytes(sources: Iterable[ModelSource]) -> int | None:
    """How much there is to download for some sources; None where no preset knows it of one."""
    total = 0
    for source in sources:
        model = preset_model(source)
        own = source.n_bytes if isinstance(source, GgufSource) else None
        n_bytes = own or (model.disk_bytes if model else None)
        if n_bytes is None:
            return None
        total += n_bytes
    return total


def _named(text: str) -> tuple[str, ModelSource]:
    source = parse_source(text)
    if isinstance(source, GgufSource) and source.repo_id is not None:
        known = preset_model(source)  # the same file of the hub, with what the preset knows of it
        source = source if known is None else known.source
    return source.short_name, source


def preset_model(source: ModelSource) -> PresetModel | None:
    """The model of a named pair that has this source, whatever else is known of it; None where there is none."""
    models = (model for preset in PRESETS.values() for model in (preset.slm, preset.llm))
    same = (model for model in models if (type(model.source), str(model.source)) == (type(source), str(source)))
    return next(same, None)


def preset_of(title: str) -> str | None:
    """The name of the preset that a trace or a loaded pair calls by this title; None where there is none."""
    return next((preset.name for preset in PRESETS.values() if preset.title == title), None)
