"""`MLPRouter`: the published router, an MLP on the SLM's hidden state, and its file format.

A router is two files side by side: `NAME.safetensors` (weights) and `NAME.json` (its card: what it was trained on, how
well it does, and which pair it fits). Knows nothing about training.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from citer_core.errors import RouterError
from citer_core.routing.router import RouterFeatures

CARD_SCHEMA_VERSION = 1


class CiterMLP(nn.Sequential):
    """H -> 2H, batch norm, ReLU, dropout -> H, dropout -> 1: the logit of preferring the SLM.

    The layers are those of the authors' published code; only H is ours.
    """

    def __init__(self, hidden_size: int, dropout: float = 0.1) -> None:
        super().__init__(
            nn.Linear(hidden_size, 2 * hidden_size),
            nn.BatchNorm1d(2 * hidden_size),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(2 * hidden_size, hidden_size),
            nn.Dropout(dropout),
            nn.Linear(hidden_size, 1),
        )


class MLPRouter:
    """A trained `CiterMLP` as a router.

    Attributes:
        name, label, revision, n_params: see `Router`; `n_params` counts batch-norm statistics too, they are read.
        card: the JSON beside the weights.
    """

    def __init__(self, mlp: CiterMLP, card: dict[str, Any]) -> None:
        self.mlp = mlp.eval().requires_grad_(False)
        self.card = card
        self.name: str = card["name"]
        self.label: str = card["label"]
        tensors = _weights(mlp)
        self.n_params = sum(tensor.numel() for tensor in tensors.values())
        self.revision = _digest(tensors)

    def confidence(self, features: RouterFeatures) -> Tensor:
        """Sigmoid of the MLP's logit, [B] float32; the MLP runs in float32 whatever the models run in."""
        return torch.sigmoid(self.mlp(features.hidden.float())).squeeze(-1)

    def save(self, folder: Path) -> None:
        """Writes `NAME.safetensors` and then `NAME.json` into `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        save_file(_weights(self.mlp), folder / f"{self.name}.safetensors")
        card = {
            **self.card,
            "schema_version": CARD_SCHEMA_VERSION,
            "revision": self.revision,
            "n_params": self.n_params,
        }
        (folder / f"{self.name}.json").write_text(json.dumps(card, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, card_path: Path, *, hidden_size: int, pair_revision: str, device: str = "cpu") -> MLPRouter:
        """Reads a router and checks that it fits the pair.

        Args:
            card_path: the JSON card; the weights lie beside it.
            hidden_size: H of the SLM that it is to read.
            pair_revision: of the loaded pair; a router trained on other weights is refused.
            device: where the MLP runs.

        Raises:
            RouterError: a file is missing or damaged, or the router is of another size or for another pair.
        """
        name = card_path.stem
        again = "For the bundled pair, `python -m citer_core embedded router` trains one."
        try:
            card = json.loads(card_path.read_text(encoding="utf-8"))
            tensors = load_file(card_path.with_suffix(".safetensors"))
        except (OSError, ValueError, SafetensorError) as error:
            raise RouterError(f'The router "{name}" could not be read ({error}). {again}') from error
        if card.get("schema_version") != CARD_SCHEMA_VERSION:
            raise RouterError(f'The card of router "{name}" has schema version {card.get("schema_version")!r}. {again}')
        if card["hidden_size"] != hidden_size:
            raise RouterError(
                f'The router "{name}" reads hidden states of {card["hidden_size"]} numbers, but the SLM of this pair '
                f"gives {hidden_size}. {again}"
            )
        mlp = CiterMLP(hidden_size)
        try:
            mlp.load_state_dict(tensors, strict=False)
            missing = mlp.state_dict().keys() - tensors.keys() - {"1.num_batches_tracked"}
            if missing:
                raise RuntimeError(f"no {sorted(missing)[0]}")
        except RuntimeError as error:
            reason = str(error).split("\n")[-1].strip()
            raise RouterError(f'The weights of router "{name}" do not fit its card ({reason}). {again}') from error
        if card["pair_revision"] != pair_revision:
            raise RouterError(
                f'The router "{name}" was trained for the pair {card["pair_revision"]}, but this is {pair_revision}. '
                f"{again}"
            )
        return cls(mlp.to(device), card)


def _weights(mlp: CiterMLP) -> dict[str, Tensor]:
    """The tensors that inference reads: all but the batch counter."""
    return {k: v.contiguous() for k, v in mlp.state_dict().items() if not k.endswith("num_batches_tracked")}


def _digest(tensors: dict[str, Tensor]) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode())
        digest.update(tensor.cpu().numpy().tobytes())
    return digest.hexdigest()[:16]
