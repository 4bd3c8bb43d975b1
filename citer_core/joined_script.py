"""`JoinedScript`: the browser's modules as one script, in the order of their imports.

That is possible because no two of them declare the same top-level name; what could not be joined is refused. Standard
library only. Called for the one-file pages (`offline`) and for the page's own script (`ui/server`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from citer_core.errors import ModelFileError
from citer_core.html_page import as_data

_IMPORT = re.compile(r'^(?:import|export) \{([^}]*)\} from "(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function\*?|class|const|let) )", re.MULTILINE)
_DECLARED = re.compile(r"^(export )?(?:async )?(?:function\*?|class|const|let) ([A-Za-z_$][\w$]*)", re.MULTILINE)
# Up to its own end only: a type in front of an expression (`/** @type {X} */ (y).z`) is code as well.
_COMMENT = re.compile(r"^[ ]*/\*\*(?:(?!\*/).)*\*/\n", re.MULTILINE | re.DOTALL)
_LEFT_OVER = re.compile(r"^(?:import|export)\b.*", re.MULTILINE)
_LATER = re.compile(r'\bimport\(("\.[^"]+")\)')
_OWN_URL = "import.meta.url"


def import_map_of(modules: Sequence[str], script: str) -> str:
    """The text of an import map that leads the modules' addresses, relative to the document, to a joined script."""
    # An address in an import map has to begin with a dot or a slash.
    return as_data({"imports": {f"./{module}": f"./{script}" for module in modules}})


@dataclass(slots=True)
class JoinedScript:
    """Modules that were joined.

    Attributes:
        modules: their files, each before those that need it.
        exports: all names that any of them exports.
    """

    modules: list[Path] = field(default_factory=list)
    exports: list[str] = field(default_factory=list)
    _parts: list[str] = field(default_factory=list)
    _owners: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def of(cls, entry: Path, url_of: Callable[[Path], str] | None = None) -> JoinedScript:
        """A module and everything that it imports.

        Args:
            entry: the module's file.
            url_of: the address, relative to the document, at which each module is also served by itself. It stands for
                `import.meta.url`, and modules that are imported later are looked for from there. Without it nothing
                may be imported later.

        Raises:
            ModelFileError: a module cannot be read, or uses what cannot be joined: another form of import or export, a
                renamed import, a top-level name that another module has, or the end of a script element.
        """
        script = cls()
        script._add(entry.resolve(), url_of, set())
        return script

    @property
    def text(self) -> str:
        """The script, which exports nothing."""
        return "\n".join(self._parts)

    @property
    def module_text(self) -> str:
        """The script as a module that exports what any of its modules did."""
        return f"{self.text}\nexport {{ {', '.join(self.exports)} }};\n"

    def _add(self, path: Path, url_of: Callable[[Path], str] | None, seen: set[Path]) -> None:
        if path in seen:
            return
        seen.add(path)
        try:
            source = path.read_text(encoding="utf-8")
        except OSError as error:
            raise ModelFileError(f"The viewer's module {path.name} cannot be read ({error}). Install again.") from error
        for names, imported in _IMPORT.findall(source):
            if re.search(r"\bas\b", names):
                raise ModelFileError(f"{path.name} renames an import, so it cannot be joined: use the name as it is.")
            self._add((path.parent / imported).resolve(), url_of, seen)
        declared = _COMMENT.sub("", _IMPORT.sub("", source))
        body = _EXPORT.sub("", declared)
        if url_of is not None:
            own_url = f"new URL({json.dumps(url_of(path))}, document.baseURI).href"
            body = _LATER.sub(rf"import(new URL(\1, {_OWN_URL}).href)", body)
            body = body.replace(_OWN_URL, f"({own_url})")
        if (odd := _LEFT_OVER.search(body)) or (url_of is None and (odd := re.search(r"\bimport\(", body))):
            raise ModelFileError(f"{path.name} cannot be joined into one script: {odd.group()[:80]!r}.")
        if re.search("</script|<!--", body, re.IGNORECASE):
            raise ModelFileError(f"{path.name} holds the end of a script element or a comment of HTML.")
        for exported, name in _DECLARED.findall(declared):
            if name in self._owners:
                raise ModelFileError(f"{path.name} and {self._owners[name].name} both declare {name}: rename one.")
            self._owners[name] = path
            if exported:
                self.exports.append(name)
        self.modules.append(path)
        self._parts.append(f"// ---- {path.name}\n{body}")
