"""Below the viewer: how it works in three paragraphs, and what to read next."""

from __future__ import annotations

from html import escape

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


def how_it_works(*, chapters_here: bool) -> str:
    """The section, with links to the chapters where they are served."""
    links = " · ".join(
        f'<a href="{escape(url)}" target="_blank">{escape(title)}</a>' for url, title in chapters().links()
    )
    return HOW_IT_WORKS.replace("{more}", f"<h3>Read on</h3><p>{links}</p>" if chapters_here else "")
