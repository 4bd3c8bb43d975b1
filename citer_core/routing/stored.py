"""`StoredRouter`: a trained router and its file format.

A router is two files side by side: `NAME.safetensors` (weights) and `NAME.json` (its card: what it was trained on, how
well it does, and which pair it fits). What it computes is its subclass's business (`routers/`), how it was trained is
`citer_core.training`'s.
"""

from __future__ import annotations

import copy
import hashlib
import json
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from citer_core.errors import RouterError
from citer_core.models.spec import is_same_pair
from citer_core.routing.router import Router, RouterFeatures

CARD_SCHEMA_VERSION = 1
MATRIX = 2  # dimensions of the tensors that make a file large
AGAIN = (
    "For the bundled pair, `python -m citer_core embedded router` trains one; for another, "
    "`python -m citer_core train-router`."
)


class StoredRouter(Router):
    """A small network on the SLM's side, with its card.

    Attributes:
        kind: the architecture, as cards name it.
        card: the JSON beside the weights.
        n_params: counts batch-norm statistics too, they are read.
    """

    kind: ClassVar[str]

    def __init__(self, network: nn.Module, card: dict[str, Any]) -> None:
        self.network = network.eval().requires_grad_(False)
        self._fast = self.for_inference(self.network)
        self.card = card
        self.name = card["name"]
        self.label = card["label"]
        self.default_threshold = float(card.get("recommended_threshold", Router.default_threshold))
        tensors = _weights(network)
        self.n_params = sum(tensor.numel() for tensor in tensors.values())
        self.revision = _digest(tensors)

    @classmethod
    @abstractmethod
    def build(cls, hidden_size: int) -> nn.Module:
        """A new network for an SLM with hidden states of `hidden_size` numbers."""

    @classmethod
    def for_inference(cls, network: nn.Module) -> nn.Module:
        """A network that computes the same, up to rounding, in less time; the network itself where there is none."""
        return network

    @classmethod
    @abstractmethod
    def logit(cls, network: nn.Module, features: RouterFeatures) -> Tensor:
        """[B] float32, the log-odds of preferring the SLM; training and inference both compute them here."""

    def confidence(self, features: RouterFeatures) -> Tensor:
        """Sigmoid of the logit; the network runs in float32 whatever the models run in."""
        return torch.sigmoid(self.logit(self._fast, features))

    def threshold_at(self, share: float) -> float:
        """The tau below which this share of validation tokens lies: about the share of tokens that it gives the LLM.

        Args:
            share: 0 to 1. Measured on ground-truth text, so a decoded text comes near it, not upon it.

        Raises:
            RouterError: the card does not say how its confidences are spread.
        """
        quantiles = self.card.get("training", {}).get("confidence_quantiles")
        if not quantiles:
            raise RouterError(
                f'The card of router "{self.name}" has no confidence quantiles, so no budget can be turned into a tau. '
                f"Give a threshold. {AGAIN}"
            )
        place = share * (len(quantiles) - 1)
        low = min(int(place), len(quantiles) - 2)
        return float(quantiles[low] + (place - low) * (quantiles[low + 1] - quantiles[low]))

    def rounded(self) -> Self:
        """The same router with its matrices rounded to bfloat16, half the file; it computes in float32 still."""
        network = copy.deepcopy(self.network)
        for tensor in _weights(network).values():
            if tensor.ndim == MATRIX:
                tensor.copy_(tensor.bfloat16())
        return type(self)(network, self.card | {"matrices": "rounded to bfloat16 after training"})

    def save(self, folder: Path) -> None:
        """Writes `NAME.safetensors` and then `NAME.json` into `folder`; a card that is there is always a whole one.

        Raises:
            RouterError: the folder cannot be written.
        """
        card = {
            **self.card,
            "schema_version": CARD_SCHEMA_VERSION,
            "kind": self.kind,
            "revision": self.revision,
            "n_params": self.n_params,
        }
        weights, document = (folder / f"{self.name}.{suffix}" for suffix in ("safetensors", "json"))
        partial = [path.with_name(path.name + ".partial") for path in (weights, document)]
        try:
            folder.mkdir(parents=True, exist_ok=True)
            save_file(_smallest(_weights(self.network)), partial[0])
            partial[1].write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
            partial[0].replace(weights)
            partial[1].replace(document)
        except (OSError, SafetensorError) as error:
            raise RouterError(f"{folder} cannot be written ({error}): choose another folder.") from error

    @classmethod
    def read(
        cls, card: dict[str, Any], weights: Path, *, hidden_size: int, pair_revision: str, device: str = "cpu"
    ) -> Self:
        """Reads the weights of a router whose card is known, and checks that it fits the pair.

        Args:
            card: from `read_card`.
            weights: the safetensors file beside it.
            hidden_size: H of the SLM that it is to read.
            pair_revision: of the loaded pair; a router trained on other weights is refused (`is_same_pair`).
            device: where the network runs.

        Raises:
            RouterError: a file is missing or damaged, or the router is of another size or for another pair.
        """
        name = weights.stem
        try:
            tensors = load_file(weights)
        except (OSError, ValueError, SafetensorError) as error:
            raise RouterError(f'The router "{name}" could not be read ({error}). {AGAIN}') from error
        if card["hidden_size"] != hidden_size:
            raise RouterError(
                f'The router "{name}" reads hidden states of {card["hidden_size"]} numbers, but the SLM of this pair '
                f"gives {hidden_size}. {AGAIN}"
            )
        network = cls.build(hidden_size)
        expected = _weights(network)
        shapes = {k: tuple(v.shape) for k, v in tensors.items()}
        wrong = [k for k, v in expected.items() if shapes.get(k) != tuple(v.shape)] + sorted(shapes.keys() - expected)
        if wrong:
            raise RouterError(f'The weights of router "{name}" do not fit its card ({wrong[0]}). {AGAIN}')
        network.load_state_dict(tensors, strict=False)
        if not is_same_pair(card["pair_revision"], pair_revision):
            raise RouterError(
                f'The router "{name}" was trained for the pair {card["pair_revision"]}, but this is {pair_revision}. '
                f"{AGAIN}"
            )
        return cls(network.to(device), card)


def read_card(path: Path) -> dict[str, Any]:
    """The card of a stored router.

    Raises:
        RouterError: it is missing, damaged or of another version.
    """
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(card, dict):
            raise TypeError("it is no JSON object")
        missing = [key for key in ("label", "hidden_size", "pair_revision") if key not in card]
    except (OSError, ValueError, TypeError) as error:
        raise RouterError(f'The router "{path.stem}" could not be read ({error}). {AGAIN}') from error
    if card.get("schema_version") != CARD_SCHEMA_VERSION:
        raise RouterError(
            f'The card of router "{path.stem}" has schema version {card.get("schema_version")!r}. {AGAIN}'
        )
    if missing:
        raise RouterError(f'The card of router "{path.stem}" has no "{missing[0]}". {AGAIN}')
    return card


def _weights(network: nn.Module) -> dict[str, Tensor]:
    """The tensors that inference reads: all but the batch counters."""
    return {k: v.contiguous() for k, v in network.state_dict().items() if not k.endswith("num_batches_tracked")}


def _smallest(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Matrices in bfloat16 where that is the same number; reading gives float32 again."""
    halves = {k: v.bfloat16() for k, v in tensors.items() if v.ndim == MATRIX}
    return tensors | {k: half for k, half in halves.items() if torch.equal(half.float(), tensors[k])}


def _digest(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]
