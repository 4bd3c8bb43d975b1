"""What ships is what its cards say: a changed bit anywhere is refused; and the command that writes the cards."""

from __future__ import annotations

import hashlib
import json
import random
import shutil

import pytest

from citer_core.assets import ASSETS
from citer_core.embedded.names import publish_hashes
from citer_core.errors import ModelFileError, RouterError
from citer_core.models import hashes
from citer_core.models.checkpoint import load_tokenizer
from citer_core.models.hashes import check_files
from citer_core.models.pair import load_pair
from citer_core.routing.router_card import read_card
from citer_core.routing.routers import stored_kinds
from tests.sampling import few_or_all

MODELS = ("slm", "llm")
ROUTERS = sorted((ASSETS / "routers").rglob("*.safetensors"))


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """The shipped models and routers; a test that changes a file changes it back."""
    folder = tmp_path_factory.mktemp("assets")
    for name in ("models", "routers"):
        shutil.copytree(ASSETS / name, folder / name)
    return folder


def read_router(weights, **changes):
    card = read_card(weights.with_suffix(".json")) | changes
    kind = stored_kinds()[card["kind"]]
    return kind.read(card, weights, hidden_size=card["hidden_size"], pair_revision=card["pair_revision"])


def flipped(path, rng):
    """The file with one bit changed; gives back what undoes it."""
    place, bit = rng.randrange(path.stat().st_size), 1 << rng.randrange(8)

    def flip():
        with path.open("r+b") as file:
            file.seek(place)
            byte = file.read(1)[0]
            file.seek(place)
            file.write(bytes([byte ^ bit]))

    flip()
    return flip


def test_the_cards_name_every_shipped_file_by_its_sha256():
    card = json.loads((ASSETS / "models" / "card.json").read_text())
    there = [path for which in (*MODELS, "tokenizer") for path in (ASSETS / "models" / which).iterdir()]
    assert card["files"] == {
        f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest() for path in there
    }
    assert len(there) == 8 and len(ROUTERS) == 12
    for weights in ROUTERS:
        document = json.loads(weights.with_suffix(".json").read_text())
        assert document["weights_sha256"] == hashlib.sha256(weights.read_bytes()).hexdigest()


@pytest.mark.parametrize("n_each", few_or_all(2, 15))
def test_every_flipped_bit_in_a_shipped_weights_file_is_refused(copied, n_each):
    """The old code loaded all in the models and 18 of 20 in routers."""
    rng = random.Random(14)
    models = [copied / "models" / which / "model.safetensors" for which in MODELS]
    files = [*models, *(copied / path.relative_to(ASSETS) for path in ROUTERS)]
    for path in files * n_each:
        undo = flipped(path, rng)
        try:
            with pytest.raises((ModelFileError, RouterError), match="git checkout"):
                check_files(path.parent) if path in models else read_router(path)
        finally:
            undo()
    for path in models:
        check_files(path.parent)
    assert all(read_router(copied / path.relative_to(ASSETS)) for path in ROUTERS)


@pytest.mark.parametrize("file", ["llm/model.safetensors", "tokenizer/tokenizer.json"])
def test_a_pair_with_a_changed_file_is_not_loaded_and_the_file_is_named(copied, file):
    path = copied / "models" / file
    for which in MODELS:  # as one folder each, which is how `--pair` takes them
        shutil.copy(ASSETS / "models" / "tokenizer" / "tokenizer.json", copied / "models" / which)
    pair = f"{copied / 'models' / 'slm'},{copied / 'models' / 'llm'}"
    undo = flipped(path, random.Random(1))
    said = rf"{file} is not the file that its card names.*not loaded.*git checkout"
    try:
        with pytest.raises(ModelFileError, match=said):
            load_tokenizer(path.parent) if "tokenizer" in file else load_pair(pair)
    finally:
        undo()


def test_a_missing_file_is_named(copied):
    path = copied / "models" / "llm" / "generation_config.json"
    content = path.read_bytes()
    path.unlink()
    with pytest.raises(ModelFileError, match=r"llm/generation_config\.json is missing"):
        check_files(path.parent)
    path.write_bytes(content)


@pytest.mark.parametrize("content", ["{", '{"files": {"llm/../x": "a"}}', "{}"])
def test_the_bundled_pair_needs_its_card(copied, tmp_path, monkeypatch, content):
    """Or a flipped bit in the name of a field would switch all checks off."""
    shutil.copytree(copied / "models" / "llm", tmp_path / "llm")
    (tmp_path / "card.json").write_text(content)
    monkeypatch.setattr(hashes, "BUNDLED", tmp_path)
    with pytest.raises(ModelFileError, match="git checkout"):
        check_files(tmp_path / "llm")


def test_a_router_from_before_cards_had_hashes_is_compared_by_its_revision(copied):
    rng = random.Random(2)
    weights = copied / "routers" / "embedded" / "citer.safetensors"
    before = read_router(weights, weights_sha256=None).revision
    n_refused = 0
    for _ in range(40):
        undo = flipped(weights, rng)
        try:
            assert read_router(weights, weights_sha256=None).revision == before, "a bit that no tensor holds"
        except RouterError:
            n_refused += 1
        finally:
            undo()
    assert n_refused > 35


def test_the_command_writes_the_cards_that_ship(tmp_path):
    """On what ships it changes no byte; to cards without hashes, with the pair's old name, it adds just those."""
    for name in ("models", "routers", "traces"):
        shutil.copytree(ASSETS / name, tmp_path / name)
    for which in MODELS:
        for path in (tmp_path / "models" / "tokenizer").iterdir():
            shutil.copy(path, tmp_path / "models" / which)
    publish_hashes(tmp_path)
    for card in (tmp_path / "routers").rglob("*.json"):
        assert card.read_bytes() == (ASSETS / card.relative_to(tmp_path)).read_bytes()
    shipped = json.loads((ASSETS / "models" / "card.json").read_text())
    revision = shipped["pair_revision"]
    old = "-".join(half.partition(".")[0] for half in revision.split("-"))
    for path in (*(tmp_path / "routers").rglob("*.json"), *tmp_path.glob("*/*.json")):
        document = path.read_text().replace(revision, old)
        path.write_text(document)
        if "weights_sha256" in document:
            bare = json.loads(document)
            del bare["weights_sha256"]
            path.write_text(json.dumps(bare, indent=2) + "\n")
    publish_hashes(tmp_path)
    for path in (*(tmp_path / "routers").rglob("*.json"), *(tmp_path / "traces").glob("*.json")):
        assert path.read_bytes() == (ASSETS / path.relative_to(tmp_path)).read_bytes()
