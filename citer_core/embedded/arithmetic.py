"""Arithmetic written out: integers in, one line of LaTeX and the result out.

Knows nothing about stories. A small model cannot multiply 34 by 27 in one breath, so a product of two many-digit
numbers is spelled as partial products; that keeps every single step learnable and gives the text the shape of a chain
of thought.
"""

from __future__ import annotations

import random


def add(*terms: int) -> tuple[str, int]:
    """`$12+30+5=47$` and 47, for two or more non-negative terms; three or more are summed pairwise."""
    if len(terms) == 2:
        return f"${terms[0]}+{terms[1]}={terms[0] + terms[1]}$", sum(terms)
    partial = terms[0] + terms[1]
    rest = "+".join(str(t) for t in (partial, *terms[2:]))
    head = "+".join(str(t) for t in terms)
    if len(terms) == 3:
        return f"${head}={rest}={sum(terms)}$", sum(terms)
    tail, total = add(partial, *terms[2:])
    return f"${head}={tail[1:]}", total


def subtract(a: int, b: int) -> tuple[str, int]:
    """`$50-12=38$` and 38; `a >= b`, because the stories count things."""
    assert a >= b, (a, b)
    return f"${a}-{b}={a - b}$", a - b


def multiply(a: int, b: int) -> tuple[str, int]:
    """`$7\\times12=84$`, or through partial products where both factors have several significant digits."""
    product = a * b
    head = f"${a}\\times{b}="
    tens, units = b // 10 * 10, b % 10
    if a < 10 or tens == 0 or units == 0:
        return f"{head}{product}$", product
    return f"{head}{a}\\times{tens}+{a}\\times{units}={a * tens}+{a * units}={product}$", product


def divide(a: int, b: int) -> tuple[str, int]:
    """`$84\\div7=12$` and 12; the stories are built so that `b` divides `a`."""
    assert a % b == 0, (a, b)
    return f"${a}\\div{b}={a // b}$", a // b


def percent_of(rate: int, whole: int) -> tuple[str, int]:
    """`rate`% of `whole`, by way of the product and a division by 100; the result must be an integer."""
    assert rate * whole % 100 == 0, (rate, whole)
    return f"${whole}\\times{rate}\\div100={whole * rate}\\div100={whole * rate // 100}$", whole * rate // 100


def sample_drill(rng: random.Random) -> tuple[str, str]:
    """Arithmetic without a story, as (prompt, completion): the part of a word problem that takes practice."""
    kind = rng.choice(("add", "add", "add3", "subtract", "subtract", "multiply", "multiply", "divide", "percent"))
    most = rng.choice((100, 300, 1_000, 2_000))
    a, b = rng.randint(1, most), rng.randint(1, most)
    if kind == "add":
        line, _ = add(a, b)
    elif kind == "add3":
        line, _ = add(rng.randint(2, 60), rng.randint(2, 300), rng.randint(2, 400))
    elif kind == "subtract":
        line, _ = subtract(max(a, b), min(a, b))
    elif kind == "multiply":
        line, _ = multiply(rng.randint(1, 130), rng.choice((rng.randint(1, 10), rng.randint(1, 60))))
    elif kind == "divide":
        divisor, quotient = rng.randint(2, 20), rng.randint(2, 40)
        line, _ = divide(divisor * quotient, divisor)
    else:
        line, _ = percent_of(5 * rng.randint(1, 19), 20 * rng.randint(2, 45))
    return f"Question: {line.split('=')[0]}$\nAnswer:", f" {line}"
