"""The door of the page: who may ask, for what, how much at once, and what goes into the log.

ASGI parts and routes over starlette; must not import gradio, torch or anything of `citer_core.ui`. `ui/server` puts
them around gradio's application.
"""
