"""Entry point of `python -m citer_core`."""

from __future__ import annotations

from citer_core.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
