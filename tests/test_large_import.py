"""What happens around a large import, seen from the modules that are imported."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from citer_core.large_import import large_import

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
