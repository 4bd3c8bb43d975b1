"""What happens around a large import, seen from the modules that are imported."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from citer_core.large_import import large_import
from citer_core.spared_work import SPARED, place_of_caller, spare

PACKAGE = "citer_test_large"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A package of three modules; the last notes whether the collector was at work."""
    folder = tmp_path / PACKAGE
    folder.mkdir()
    (folder / "__init__.py").write_text("from citer_test_large import first, second\n", encoding="utf-8")
    (folder / "first.py").write_text("things = [[] for _ in range(5000)]\n", encoding="utf-8")
    (folder / "second.py").write_text("import gc\nWAS_ENABLED = gc.isenabled()\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield PACKAGE
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]
    gc.unfreeze()


def test_the_collector_rests_meanwhile_and_never_looks_at_the_modules_again(package: str) -> None:
    n_frozen = gc.get_freeze_count()
    finders = list(sys.meta_path)
    with large_import(package):
        module = __import__(package)
    assert not module.second.WAS_ENABLED
    assert gc.isenabled()
    assert gc.get_freeze_count() >= n_frozen + 5000
    assert sys.meta_path == finders


def test_a_module_that_is_there_freezes_nothing(package: str) -> None:
    """What is alive by then may be models, which are full of cycles and have to go one day."""
    with large_import(package):
        __import__(package)
    n_frozen = gc.get_freeze_count()
    with large_import(package, before_each=lambda: pytest.fail("nothing is imported")):
        __import__(package)
        assert gc.isenabled()
    assert gc.get_freeze_count() <= n_frozen  # less where something that was frozen has gone meanwhile


def test_who_waits_is_asked_before_each_module_and_only_in_this_thread(package: str, tmp_path: Path) -> None:
    (tmp_path / "citer_test_large_other.py").write_text("", encoding="utf-8")
    asked: list[str] = []
    with large_import(package, before_each=lambda: asked.append(threading.current_thread().name)):
        other = threading.Thread(target=__import__, args=("citer_test_large_other",), name="other")
        other.start()
        other.join()
        assert asked == []
        __import__(package)
    del sys.modules["citer_test_large_other"]
    assert asked == [threading.current_thread().name] * 3


def test_an_import_that_fails_leaves_the_process_as_it_was(package: str, tmp_path: Path) -> None:
    (tmp_path / PACKAGE / "second.py").write_text("raise ImportError('broken')\n", encoding="utf-8")
    n_frozen, finders = gc.get_freeze_count(), list(sys.meta_path)
    with pytest.raises(ImportError, match="broken"), large_import(package, before_each=lambda: None):
        __import__(package)
    assert gc.isenabled()
    assert gc.get_freeze_count() <= n_frozen
    assert sys.meta_path == finders


def test_what_is_spared_is_there_in_the_versions_we_pin() -> None:
    """Names of their own insides: a new version that has others would be slow again, and this says so."""
    for name, attribute in SPARED:
        assert callable(getattr(importlib.import_module(name), attribute))


def test_operators_get_the_place_that_torch_would_find(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._library import utils

    spec = importlib.util.find_spec("torch._library.utils")
    assert spec is not None and spec.loader is not None
    fresh = importlib.util.module_from_spec(spec)  # torch's own, whatever this process has replaced by now
    spec.loader.exec_module(fresh)
    original = fresh.get_source

    def declared(how: Callable[[int], str]) -> tuple[str, str]:
        return how(1), (lambda: how(2))()

    assert declared(place_of_caller) == declared(original)
    monkeypatch.setattr(utils, "get_source", original)
    spare()
    assert utils.get_source is place_of_caller


def test_a_large_import_spares_them_and_gradio_comes_with_its_stubs() -> None:
    """In a process of its own: of some fifty classes' sources one is parsed, defined before the next import comes."""
    code = """
import ast, sys
from citer_core.large_import import large_import
parsed = []
real = ast.parse
def parse(source, *rest, **more):
    parsed.append(len(source))
    return real(source, *rest, **more)
ast.parse = parse
with large_import("gradio"):
    import gradio
assert hasattr(gradio.Slider, "change") and "change" in [str(event) for event in gradio.Slider.EVENTS]
print(sum(1 for size in parsed if size > 5000))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) <= 5, done.stdout
