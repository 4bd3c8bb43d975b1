"""Below the viewer: how it works in three paragraphs, and what to read next."""

from __future__ import annotations

import gradio as gr

from citer_core.ui.markup import literal
from citer_core.ui.page_assets import chapters

HOW_IT_WORKS = """
<section class="cx-about" aria-labelledby="cx-how">
  <h2 id="cx-how">How it works</h2>
  <div class="cx-columns">
    <div><h3>Two models, one text</h3>
      <p>The small model (SLM) reads every position. A router looks at its state and says how sure it is that the
      small model's next token will do. If it is not, the large model (LLM) catches up on what it missed and writes
      this one token. Each keeps its own cache, so a hand-over costs one pass, not a new start.</p></div>
    <div><h3>What τ means</h3>
      <p>The LLM writes a token when <em>confidence &lt; τ</em>. At 0 the SLM writes everything, at 1 the LLM does.
      Move τ over a finished run and the decisions recolour at once. Where both models write the
      same token the text stays the same, exactly. From the first token that may differ, your browser writes the
      bundled pair's text again; of a pair that only a server has, the rest is hatched.</p></div>
    <div><h3>What it costs</h3>
      <p>Purple is an <em>estimate</em> of the bytes moved: weights once per pass, cache read and written. A pass of
      <var>k</var> new tokens over <var>c</var> cached ones moves <code>W + κ·(c + k)</code>; a step adds SLM, router
      and, where it was asked, LLM. At τ = 1 routing costs more than the LLM alone: the SLM still reads along.
      Milliseconds are measured.</p></div>
  </div>
  {more}
</section>
"""


def about() -> gr.HTML:
    """The section."""
    return gr.HTML(
        html_template=HOW_IT_WORKS.replace("{more}", f"<h3>Read on</h3><p>{_links()}</p>"),
        js_on_load=None,
        apply_default_css=False,
        elem_id="cx-about",
    )


def _links() -> str:
    # Relative to the page, so that they work under a proxy's path too.
    return " · ".join(
        f'<a href="{literal(url)}" target="_blank">{literal(title)}</a>' for url, title in chapters().links()
    )
