"""The command line, `python -m citer_core`: one module per subcommand, registered in `main`.

Imports of models happen inside the commands, so that `--help` and a wrong argument answer at once.
"""
