"""What pyproject.toml cannot say of the wheel: assets go along as `citer_core.data`, app.py as `citer_core/app.py`."""

from __future__ import annotations

from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py


class BuildWithPage(build_py):
    """Brings the program that serves the page, which stands beside the package for Spaces."""

    def run(self) -> None:
        """Builds."""
        super().run()
        if not self.editable_mode:
            self.copy_file("app.py", str(Path(self.build_lib, "citer_core", "app.py")))


setup(packages=[*find_packages(include=["citer_core*"]), "citer_core.data"], cmdclass={"build_py": BuildWithPage})
