"""Weights on this machine: what is taken from where, what is checked, and how the hub's files get here."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub.errors import GatedRepoError, LocalEntryNotFoundError

from citer_core.config import cache_folder
from citer_core.errors import ModelFileError
from citer_core.models import hashes, store
from citer_core.models.pair import load_pair
from citer_core.models.sources import GgufSource, HubSource
from citer_core.types import PairOptions
from tests.core.conftest import tiny_qwen2
from tests.forked import HUB_ANEW, Forked

pytestmark = pytest.mark.usefixtures("empty_caches")


# --- what is here


def put(path: Path, content: bytes) -> GgufSource:
    """A file, and the source that it is the right content of."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return GgufSource(path.name, "org/name", hashlib.sha256(content).hexdigest(), len(content))


@pytest.mark.parametrize("folder", ["models", "."])
def test_a_file_put_into_the_cache_by_hand_is_taken_after_its_hash_was_checked(folder):
    source = put(cache_folder() / folder / "m.gguf", b"weights")
    assert store.require([source], "it") == [cache_folder() / folder / "m.gguf"]
    assert store.fetch(source) == cache_folder() / folder / "m.gguf"


def test_a_damaged_or_foreign_file_is_refused():
    source = put(cache_folder() / "models" / "m.gguf", b"weights")
    path = cache_folder() / "models" / "m.gguf"
    for content, why in ((b"we", "2 bytes instead of 7"), (b"WEIGHTS", "SHA-256 is different")):
        path.write_bytes(content)
        for ask in (lambda: store.require([source], "it"), lambda: store.fetch(source)):
            with pytest.raises(ModelFileError, match=f"not the expected file .{why}.*Delete it"):
                ask()
    assert path.exists(), "a person's file is theirs to delete"


def test_a_large_files_hash_is_remembered_until_the_file_changes(monkeypatch):
    monkeypatch.setattr(hashes, "SMALL_BYTES", 2)
    put(cache_folder() / "m.gguf", b"one")
    path = cache_folder() / "m.gguf"
    first = store.sha256_of(path)
    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "file_digest", lambda *_: pytest.fail("read again"))
        assert store.sha256_of(path) == first
    path.write_bytes(b"two")
    os.utime(path, ns=(1, 1))
    second = hashlib.sha256(b"two").hexdigest()
    assert store.sha256_of(path) == second != first
    # Another file under the same path, of the same size and time.
    put(path.with_name("other"), b"six")
    os.utime(path.with_name("other"), ns=(1, 1))
    path.with_name("other").replace(path)
    assert store.sha256_of(path) == hashlib.sha256(b"six").hexdigest()


def test_nothing_is_downloaded_by_surprise():
    with pytest.raises(ModelFileError) as caught:
        load_pair("qwen2.5-0.5b-7b")
    assert str(caught.value) == (
        "Not on this machine: the weights of Qwen/Qwen2.5-0.5B-Instruct (988 MB) and Qwen/Qwen2.5-7B-Instruct "
        "(15.2 GB). Run `python -m citer_core fetch qwen2.5-0.5b-7b` once; or add --download."
    )
    with pytest.raises(
        ModelFileError, match=r'size that only the hub knows.*fetch "org/a:m\.gguf,org/b".*put m\.gguf into'
    ):
        load_pair("org/a:m.gguf,org/b")
    with pytest.raises(ModelFileError, match=r"There is no file /nowhere/m\.gguf"):
        load_pair("/nowhere/m.gguf,/nowhere/m.gguf")


def test_a_checkpoint_is_whole_only_with_every_shard(tmp_path, tokenizer):
    tiny_qwen2(1).save_pretrained(tmp_path, max_shard_size="100KB")
    assert not store.is_whole(tmp_path), "no tokenizer"
    tokenizer.save_pretrained(tmp_path)
    assert store.is_whole(tmp_path)
    sorted(tmp_path.glob("model-*.safetensors"))[-1].unlink()
    assert not store.is_whole(tmp_path)


# --- fetching


def test_the_flag_downloads_and_the_pair_loads(tmp_path, monkeypatch, tokenizer):
    def download(source, on_bytes):
        folder = tmp_path / "downloaded"
        tiny_qwen2(1).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        monkeypatch.setattr(store, "_cached_snapshot", lambda repo_id: folder)
        return folder

    monkeypatch.setattr(store, "_download", download)
    pair = load_pair("org/tiny,org/tiny", options=PairOptions(download=True))
    assert pair.info.name == "tiny / tiny" and pair.vocab_size == len(tokenizer)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            lambda: GatedRepoError("gated", response=_response(403)),
            "accept its licence on https://huggingface.co/org/m",
        ),
        (lambda: LocalEntryNotFoundError("no network"), "no network.*run the same command again to go on"),
        (lambda: OSError(28, "No space left on device"), "No space left on device"),
    ],
)
def test_a_download_that_fails_says_what_to_do(monkeypatch, error, says):
    def download(source, on_bytes):
        raise error()

    monkeypatch.setattr(store, "_download", download)
    with pytest.raises(ModelFileError, match=says):
        store.fetch(HubSource("org/m"))


def _response(status):
    import httpx2

    return httpx2.Response(status, request=httpx2.Request("GET", "https://hub"))


def test_a_repository_without_safetensors_is_refused_and_a_full_disk_found_before(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "_download", lambda source, _: tmp_path)
    with pytest.raises(ModelFileError, match="no complete transformers checkpoint in safetensors"):
        store.fetch(HubSource("org/pickles"))
    monkeypatch.setattr(store.shutil, "disk_usage", lambda place: type("Usage", (), {"free": 10**9}))
    with pytest.raises(ModelFileError, match=r"needs 15\.2 GB, and .* has 1\.0 GB free"):
        store.fetch(HubSource("Qwen/Qwen2.5-7B-Instruct"))


class _Hub(BaseHTTPRequestHandler):
    """As much of the model hub as one repository takes."""

    def do_HEAD(self):
        self._head(200, len(self._content()))

    def do_GET(self):
        if self.path.startswith("/api/models/org/name"):
            files = [{"rfilename": name} for name in self.server.files]
            self._send(json.dumps({"id": "org/name", "sha": "1" * 40, "siblings": files}).encode())
            return
        if "/resolve/" not in self.path:  # the client asks for other things too
            self.send_error(404)
            return
        asked = self.headers.get("Range")
        start = int(asked.removeprefix("bytes=").split("-")[0]) if asked else 0
        self.server.asked.append((self.path.rpartition("/")[2], start))
        self._send(self._content()[start:], start)

    def _content(self):
        return self.server.files[self.path.rpartition("/")[2]]

    def _send(self, content, start=0):
        self._head(206 if start else 200, len(content), start)
        self.wfile.write(content)

    def _head(self, status, length, start=0):
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        if "/resolve/" in self.path:
            whole = self._content()
            if status == 206:
                self.send_header("Content-Range", f"bytes {start}-{len(whole) - 1}/{len(whole)}")
            self.send_header("ETag", f'"{self.server.etag or hashlib.sha256(whole).hexdigest()}"')
            self.send_header("X-Repo-Commit", "1" * 40)
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def hub():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    server.files, server.asked, server.etag = {"m.gguf": bytes(range(256)) * 64}, [], None
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def by_command(server, folder, code, *arguments):
    """A process of its own, with the hub's real client."""
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")} | {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(folder / "hf"),
    }
    process = Forked(HUB_ANEW + code, *arguments, env=environment, cwd=folder)
    out, err = process.communicate()
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def fetch_by_command(server, pair, folder):
    return by_command(server, folder, "from citer_core.__main__ import program; program()", "fetch", pair)


STOPPED_AND_RESUMED = """
import json
from citer_core.errors import StoppedError
from citer_core.models.pair import pair_folders
from citer_core.types import PairOptions

seen = []
def tell(stage, done, total):
    seen.append([stage, done, total])
    if len(seen) == 2:
        raise StoppedError("Cancelled.")

for _ in range(2):
    try:
        pair_folders("org/name:m.gguf,org/name:m.gguf", "float32", PairOptions(download=True), tell)
    except StoppedError:
        pass
    except Exception as error:  # what was downloaded is no GGUF file
        seen.append(type(error).__name__)
print(json.dumps(seen))
"""


def test_a_download_tells_its_bytes_and_is_stopped_between_two_blocks(tmp_path, hub):
    block = 10_485_760  # of the hub's client
    content = hub.files["m.gguf"] = bytes(range(256)) * 100_000
    done = by_command(hub, tmp_path, STOPPED_AND_RESUMED)
    assert done.returncode == 0, done.stderr
    fetched = [["fetch", n, None] for n in (0, block, block, 2 * block, len(content))]
    assert json.loads(done.stdout) == [*fetched, ["convert", 0, None], "ModelFileError"]
    assert hub.asked == [("m.gguf", 0), ("m.gguf", block)], "it goes on where it was stopped"
    assert (cache_folder() / "models" / "org--name" / "m.gguf").read_bytes() == content


def test_fetch_goes_on_where_another_process_was_stopped(tmp_path, hub):
    content = hub.files["m.gguf"]
    folder = cache_folder() / "models" / "org--name"
    folder.mkdir(parents=True)
    partial = folder / f"m.gguf.{hashlib.sha256(content).hexdigest()[:16]}.partial"
    partial.write_bytes(content[:5000])
    done = fetch_by_command(hub, "org/name:m.gguf,org/name:m.gguf", tmp_path)
    assert done.returncode == 0, done.stderr
    assert hub.asked == [("m.gguf", 5000)]
    assert (folder / "m.gguf").read_bytes() == content and [path.name for path in folder.iterdir()] == ["m.gguf"]
    assert "org/name:m.gguf: done" in done.stderr and done.stdout == ""


def test_a_transfer_that_came_damaged_is_not_kept(tmp_path, hub):
    hub.etag = "0" * 64
    done = fetch_by_command(hub, "org/name:m.gguf,org/name:m.gguf", tmp_path)
    assert done.returncode == 2 and "org/name:m.gguf arrived damaged" in done.stderr
    assert not list((cache_folder() / "models").rglob("m.gguf*partial")) + list(cache_folder().rglob("m.gguf"))


def test_a_repository_comes_without_what_is_not_read_and_its_weights_last(tmp_path, hub, tokenizer, monkeypatch):
    made = tmp_path / "made"
    tiny_qwen2(1).save_pretrained(made, max_shard_size="100KB")
    tokenizer.save_pretrained(made)
    hub.files = {path.name: path.read_bytes() for path in made.iterdir()} | {"pytorch_model.bin": b"a pickle"}
    done = fetch_by_command(hub, "org/name,org/name", tmp_path)
    assert done.returncode == 0, done.stderr
    names = [name for name, _ in hub.asked]
    assert sorted(names) == sorted(path.name for path in made.iterdir()), "no pickle"
    kinds = [name.endswith(".safetensors") for name in names]
    assert kinds == sorted(kinds) and kinds.count(True) > 1
    assert load_pair("org/name,org/name").info.name == "name / name"
    hub.asked.clear()
    assert "is here" in fetch_by_command(hub, "org/name,org/name", tmp_path).stderr and hub.asked == []


def test_a_small_files_hash_is_never_remembered():
    path = cache_folder() / "m.gguf"
    for content in (b"one", b"two"):
        put(path, content)
        os.utime(path, ns=(1, 1))
        assert store.sha256_of(path) == hashlib.sha256(content).hexdigest()
