"""Imports go one way: the list of rooms in CONTRIBUTING.md is read, and every import of `citer_core` held against it.

Those inside functions and those for types count too: what is known only there is known all the same.
"""

from __future__ import annotations

import ast
import re
from graphlib import TopologicalSorter
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "citer_core"
LINE = re.compile(r"( +)((?:\w+/? )+) +\S.*")
APART = [("evaluation", "measuring"), ("profile", "labels")]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path, known: set[str]) -> set[str]:
    """The modules of ours that a file names, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0 and node.module, f"{path}: a relative import"
            whole = {f"{node.module}.{alias.name}" for alias in node.names}
            names.update(whole & known)
            if whole - known:
                names.add(node.module)
    return {name for name in names if name.split(".")[0] == "citer_core"}


def read_modules() -> dict[str, set[str]]:
    paths = {name_of(path): path for path in PACKAGE.rglob("*.py")}
    return {name: imported(path, set(paths)) for name, path in paths.items()}


@pytest.fixture(scope="module")
def modules() -> dict[str, set[str]]:
    found = read_modules()
    assert len(found) > 200 and sum(map(len, found.values())) > 900
    assert set().union(*found.values()) <= set(found), "an import of what is not there"
    return found


@pytest.fixture(scope="module")
def table() -> tuple[list[str], list[str]]:
    """The rooms in their order, and those inside `ui` in theirs."""
    block = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\nciter_core/\n")[1]
    rooms: dict[int, list[str]] = {2: [], 4: []}
    for line in takewhile(lambda line: line.startswith(" "), block.splitlines()):
        indent, names = LINE.fullmatch(line).groups()
        rooms[len(indent)] += [name.removesuffix("/") for name in names.split()]
    return rooms[2], rooms[4]


def room_of(module: str, below: str) -> str:
    """The first name of a module below a package."""
    return module.removeprefix(f"{below}.").split(".")[0]


def crossings(modules: dict[str, set[str]], below: str) -> list[tuple[str, str, str]]:
    """`(room, other room, "module -> module")` for every import between what stands directly below a package."""
    inside = {name: found for name, found in modules.items() if name.startswith(f"{below}.")}
    pairs = [(name, other) for name, found in inside.items() for other in found if other in inside]
    rooms = [(room_of(a, below), room_of(b, below), f"{a} -> {b}") for a, b in pairs]
    return [crossing for crossing in rooms if crossing[0] != crossing[1]]


def wrong_ways(crossed: list[tuple[str, str, str]], order: list[str]) -> list[str]:
    place = {room: at for at, room in enumerate(order)}
    return sorted(
        line
        for a, b, line in crossed
        if a in place and b in place and (place[a] < place[b] or (a, b) in APART or (b, a) in APART)
    )


def test_every_room_has_its_place_in_the_list(modules, table):
    tops = {room_of(name, "citer_core") for name in modules if "." in name} - {"__main__"}
    assert set(table[0]) ^ tops == set(), "what is new needs a place in CONTRIBUTING.md's list; what is gone, none"
    assert len(table[0]) == len(tops), "a name stands twice in CONTRIBUTING.md's list"
    inside = {room_of(name, "citer_core.ui") for name in modules if name.startswith("citer_core.ui.")}
    assert set(table[1]) ^ inside == set() and len(table[1]) == len(inside)


def test_imports_go_one_way(modules, table):
    crossed = crossings(modules, "citer_core")
    assert len(crossed) > 500
    assert wrong_ways([crossing for crossing in crossed if crossing[0] != "__main__"], table[0]) == []


def test_the_modules_of_the_page_know_what_stands_before_them_and_not_the_page(modules, table):
    crossed = crossings(modules, "citer_core.ui")
    assert len(crossed) > 60
    assert wrong_ways(crossed, table[1]) == []
    assert [line for _, b, line in crossed if b in ("build", "stopping", "server")] == []


def test_there_is_no_circle(modules):
    """`CycleError` names the circle."""
    assert len(list(TopologicalSorter(modules).static_order())) == len(modules)


def test_one_module_knows_gradio(modules):
    knows = [
        name
        for name in modules
        for path in [ROOT / Path(*name.split("."))]
        for text in [(path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")]
        if re.search(r"^\s*(?:import|from) gradio\b", text, re.MULTILINE)
    ]
    assert knows == ["citer_core.ui.server"]


@pytest.mark.parametrize(
    ("line", "is_seen"),
    [
        ("def f():\n    from citer_core.engine import Engine", True),
        ("if TYPE_CHECKING:\n    import citer_core.engine", True),
        ("from citer_core import engine", True),
        ("from citer_core.types import Source", False),
    ],
)
def test_an_import_the_wrong_way_is_seen_wherever_it_stands(tmp_path, modules, table, line, is_seen):
    path = tmp_path / "module.py"
    path.write_text(line, encoding="utf-8")
    odd = {**modules, "citer_core.models.odd": imported(path, set(modules))}
    assert bool(wrong_ways(crossings(odd, "citer_core"), table[0])) is is_seen
