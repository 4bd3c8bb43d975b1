"""`StoredRouter`: a trained router and its file format.

A router is two files side by side: `NAME.safetensors` (weights) and `NAME.json` (its card: what it was trained on, how
well it does, and which pair it fits); or one, whose header holds the card, as the page saves it. What it computes is
its subclass's business (`routers/`), how it was trained is `citer_core.training`'s.
"""

from __future__ import annotations

import copy
import hashlib
import json
from abc import abstractmethod
from bisect import bisect_left
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from citer_core.errors import GateError, RouterError
from citer_core.files import whole_file, why
from citer_core.gate.json_file import read_bytes
from citer_core.models.same_pair import is_same_pair
from citer_core.models.tensor_checks import is_finite
from citer_core.routing.router import Router, RouterFeatures
from citer_core.routing.router_card import AGAIN, CARD_SCHEMA_VERSION, MAX_WEIGHTS_BYTES, SHARES_AT_TAU, WEIGHTS_HASH

MATRIX = 2  # dimensions of the tensors that make a file large


class StoredRouter(Router):
    """A small network on the SLM's side, with its card.

    Attributes:
        kind: the architecture, as cards name it.
        build: makes a new network for hidden states of that many numbers. Its `for_inference` gives one that computes
            the same, up to rounding, in less time.
        hidden_size: numbers in the states that it reads.
        card: the JSON beside the weights.
        n_params: of the network that a step reads, of `build`'s `for_inference`; statistics count, they are read too.
    """

    kind: ClassVar[str]
    build: ClassVar[type[Any]]

    def __init__(self, network: Any, card: dict[str, Any]) -> None:
        self.network: nn.Module = network.eval().requires_grad_(False)
        self._fast = network.for_inference()
        self.card = card
        self.name = card["name"]
        self.label = card["label"]
        self.hidden_size: int = card["hidden_size"]
        self.default_threshold = float(card.get("recommended_threshold", Router.default_threshold))
        if "prior" in card:
            self.slm_prior = card.get("training", {}).get("prefer_slm_share", Router.slm_prior)
        self.n_params = sum(tensor.numel() for tensor in _weights(self._fast).values())
        self.revision = _digest(_weights(network))

    @classmethod
    @abstractmethod
    def logit(cls, network: nn.Module, features: RouterFeatures) -> Tensor:
        """[B] float32, the log-odds of preferring the SLM; training and inference both compute them here."""

    def layers(self, _features: RouterFeatures) -> tuple[nn.Sequential, Tensor] | None:
        """For the view of a decision: a layer, ReLU and a layer to one number, and the [B, n] that they read; None if
        it computes otherwise. What else is in the logit is added to that number.
        """
        return None

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
        return _at(quantiles, share)

    def share_at(self, threshold: float) -> float:
        """About the share of tokens that goes to the LLM at a tau, 0 to 1: that of validation tokens, between the taus
        that the card lists on a straight line. A card without the list says it by its quantiles, to a hundredth.

        Raises:
            RouterError: the card does not say how its confidences are spread.
        """
        if threshold <= 0 or threshold >= 1:
            return float(threshold >= 1)
        training = self.card.get("training", {})
        shares = training.get(SHARES_AT_TAU)
        if shares is None:
            quantiles = training.get("confidence_quantiles") or []
            if not quantiles:
                raise RouterError(
                    f'The card of router "{self.name}" does not say what share of tokens is below a tau. {AGAIN}'
                )
            return bisect_left(quantiles, threshold) / len(quantiles)
        return _at(shares, threshold)

    def rounded(self) -> Self:
        """The same router with its matrices rounded to bfloat16, half the file; it computes in float32 still."""
        network = copy.deepcopy(self.network)
        for tensor in _weights(network).values():
            if tensor.ndim == MATRIX:
                tensor.copy_(tensor.bfloat16())
        return type(self)(network, self.card | {"matrices": "rounded to bfloat16 after training"})

    def save(self, folder: Path) -> None:
        """Writes `NAME.safetensors` and then `NAME.json`, which holds the other's SHA-256, into `folder`.

        A card that is there is always a whole one, and of the weights beside it.

        Raises:
            RouterError: the folder cannot be made.
            MachineError: the files cannot be written; those of before are still there.
        """
        content = save(_smallest(_weights(self.network)))
        card = self.unsaved_card() | {
            "schema_version": CARD_SCHEMA_VERSION,
            "kind": self.kind,
            "revision": self.revision,
            "n_params": self.n_params,
            WEIGHTS_HASH: hashlib.sha256(content).hexdigest(),
        }
        weights, document = (folder / f"{self.name}.{suffix}" for suffix in ("safetensors", "json"))
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RouterError(f"{folder} cannot be written ({why(error)}): choose another folder.") from error
        with whole_file(document) as card_partial, whole_file(weights) as partial:  # named from right to left
            partial.write_bytes(content)
            card_partial.write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")
            document.unlink(missing_ok=True)  # a stop between the two must not leave a card beside other weights

    def unsaved_card(self) -> dict[str, Any]:
        """The card without what saving adds, which stands at its end."""
        added = ("schema_version", "kind", "revision", "n_params", WEIGHTS_HASH)
        return {name: value for name, value in self.card.items() if name not in added}

    @classmethod
    def read(
        cls, card: dict[str, Any], weights: Path, *, hidden_size: int, pair_revision: str, device: str = "cpu"
    ) -> Self:
        """Reads the weights of a router whose card is known, and checks that it fits the pair.

        Args:
            card: from `read_card`.
            weights: the safetensors file beside it, or that holds it.
            hidden_size: H of the SLM that it is to read.
            pair_revision: of the loaded pair; a router trained on other weights is refused (`is_same_pair`).
            device: where the network runs.

        Raises:
            RouterError: a file is missing, damaged or not the card's; its weights are not finite; or the router is of
                another size or for another pair.
        """
        name = weights.stem
        if card["hidden_size"] != hidden_size:
            raise RouterError(
                f'The router "{name}" reads hidden states of {card["hidden_size"]} numbers, but the SLM of this pair '
                f"gives {hidden_size}. {AGAIN}"
            )
        tensors = _read_weights(weights, card.get(WEIGHTS_HASH))
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
        router = cls(network.to(device), card)
        if router.revision != card["revision"]:  # all there is where the card holds no hash of the file
            raise RouterError(f'The weights of router "{name}" are not those that its card names. {AGAIN}')
        if not router.gives_numbers():
            raise RouterError(f'The router "{name}" gives scores that are not numbers: it is damaged. {AGAIN}')
        return router

    def gives_numbers(self) -> bool:
        """Whether its weights are finite, and its scores of a few plain states are as well."""
        if not all(map(is_finite, _weights(self.network).values())):
            return False
        states = torch.tensor([[-1.0], [0.0], [1.0]], device=next(self.network.parameters()).device)
        logits = states * torch.arange(4.0, device=states.device)
        with torch.inference_mode():
            scores = self.confidence(RouterFeatures(states.expand(-1, self.hidden_size), logits))
        return is_finite(scores)


def _at(values: list[float], share: float) -> float:
    """Where a share of the way through the values, 0 to 1, one comes to; between two of them on a straight line."""
    place = share * (len(values) - 1)
    low = min(int(place), len(values) - 2)
    return float(values[low] + (place - low) * (values[low + 1] - values[low]))


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


def _read_weights(path: Path, sha256: str | None) -> dict[str, Tensor]:
    """The tensors of a file, hashed on the way; None where the card does not say what its hash is."""
    try:
        content = read_bytes(path, max_bytes=MAX_WEIGHTS_BYTES)
        if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
            raise GateError("Its SHA-256 is not the one that its card names: it is damaged or was changed.")
        return load(content)
    except (GateError, ValueError, SafetensorError) as error:
        said = str(error) if isinstance(error, GateError) else f"It is not a safetensors file ({type(error).__name__})."
        raise RouterError(f'The weights of router "{path.stem}" are not loaded. {said} {AGAIN}') from error
