"""Colours and type of the page: quiet zinc surfaces, so that the only colours are the two models' and the cost's.

System fonts only: the page asks no other host for anything. The viewer's own colours are in `assets/viewer`.
"""

from __future__ import annotations

import gradio as gr

SANS = ("ui-sans-serif", "system-ui", "-apple-system", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "sans-serif")
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")


def theme() -> gr.themes.Base:
    """The theme for `launch()`."""
    base = gr.themes.Base(
        primary_hue="zinc", secondary_hue="zinc", neutral_hue="zinc", radius_size="md", font=SANS, font_mono=MONO
    )
    return base.set(
        body_background_fill="#FAFAF9",
        body_background_fill_dark="#0F0F12",
        body_text_color="#18181B",
        body_text_color_dark="#F4F4F5",
        body_text_color_subdued="#52525B",
        body_text_color_subdued_dark="#A1A1AA",
        background_fill_primary="#FFFFFF",
        background_fill_primary_dark="#17171B",
        background_fill_secondary="#F4F4F3",
        background_fill_secondary_dark="#1D1D22",
        border_color_primary="#E4E4E4",
        border_color_primary_dark="#2C2C33",
        block_background_fill="#FFFFFF",
        block_background_fill_dark="#17171B",
        block_border_width="1px",
        block_border_color="#E4E4E4",
        block_border_color_dark="#2C2C33",
        block_label_background_fill="transparent",
        block_label_background_fill_dark="transparent",
        block_label_border_width="0px",
        block_label_text_color="#3F3F46",
        block_label_text_color_dark="#D4D4D8",
        block_label_text_weight="600",
        block_title_text_color="#27272A",
        block_title_text_color_dark="#E4E4E7",
        block_title_text_weight="600",
        block_info_text_color="#52525B",
        block_info_text_color_dark="#A1A1AA",
        block_shadow="none",
        input_background_fill="#FFFFFF",
        input_background_fill_dark="#0F0F12",
        input_border_color="#D4D4D8",
        input_border_color_dark="#3F3F46",
        input_border_color_focus="#00507D",
        input_border_color_focus_dark="#56B4E9",
        input_placeholder_color="#71717A",
        input_placeholder_color_dark="#8E8E98",
        slider_color="#00507D",
        slider_color_dark="#56B4E9",
        checkbox_background_color_selected="#18181B",
        checkbox_background_color_selected_dark="#56B4E9",
        checkbox_label_background_fill_selected="#E8F1F6",
        checkbox_label_background_fill_selected_dark="#1F3341",
        checkbox_label_text_color_selected="#18181B",
        checkbox_label_text_color_selected_dark="#F4F4F5",
        checkbox_label_border_color_selected="#00507D",
        checkbox_label_border_color_selected_dark="#56B4E9",
        button_primary_background_fill="#18181B",
        button_primary_background_fill_dark="#F4F4F5",
        button_primary_background_fill_hover="#3F3F46",
        button_primary_background_fill_hover_dark="#D4D4D8",
        button_primary_text_color="#FFFFFF",
        button_primary_text_color_dark="#18181B",
        button_secondary_background_fill="#FFFFFF",
        button_secondary_background_fill_dark="#1D1D22",
        button_secondary_border_color="#D4D4D8",
        button_secondary_border_color_dark="#3F3F46",
        button_secondary_text_color="#18181B",
        button_secondary_text_color_dark="#F4F4F5",
        link_text_color="#00507D",
        link_text_color_dark="#56B4E9",
    )
