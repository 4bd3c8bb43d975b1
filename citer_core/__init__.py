"""CITER: token-level routing between a small and a large language model.

Importing this package imports neither torch nor gradio: the parts that need them are imported by their own name.
"""

__version__ = "0.1.0"
