"""Word problems in the `math` format: a seeded story of two to five steps, its solution and its boxed answer.

Each family is one function `rng -> (problem, steps, answer)`; `sample` picks one. Called by the training recipe and by
the maker of the bundled problem set; knows nothing about models or tokens.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from citer_core.embedded.arithmetic import add, divide, multiply, percent_of, subtract

Story = tuple[str, list[str], int]

NAMES = (
    "Ada Amir Ana Anna Ben Bella Carl Chloe Clara Dan Dana David Diego Elena Eli Emma Eric Eva Felix Finn Grace Hana Hugo "
    "Ian Ida Ivan Jack James Jane John Jonas Julia Karim Kate Lara Laura Leo Liam Lily Lucas Lucy Maria Mark Max Maya Mia "
    "Nadia Nina Noah Nora Oliver Omar Oscar Paul Peter Priya Rosa Ruth Sam Sara Sofia Tariq Tess Theo Tina Tom Vera Victor "
    "Wei Yuki Zara Zoe"
).split()
SYLLABLES = "ba be bo da do fa fe ga go ha jo ka ke la le li lo ma me mi na ni no pa ra re ri ro sa so ta te ti to va vi".split()
GOODS = "apples books bottles cakes candles caps cards chairs cups eggs flags lamps lemons mugs notebooks oranges pears pencils pens pies plates roses shirts stamps tickets toys".split()
SHOPS = "shop market store bakery school stand".split()
WHOLE_PLACES = "farm factory library garden school museum club".split()
PLANTS = "apple trees,pear trees,rose bushes,tomato plants,tulips,bean plants".split(",")


def _name(rng: random.Random) -> str:
    """A first name; one in eight is made up, so that the models learn to copy a name that they have never seen."""
    if rng.random() < 0.125:
        return "".join(rng.choice(SYLLABLES) for _ in range(rng.choice((2, 2, 3)))).capitalize()
    return rng.choice(NAMES)


def _two_names(rng: random.Random) -> tuple[str, str]:
    first, second = _name(rng), _name(rng)
    while second == first:
        second = _name(rng)
    return first, second


def _two_goods(rng: random.Random) -> tuple[str, str]:
    first, second = rng.sample(GOODS, 2)
    return first, second


def shopping(rng: random.Random) -> Story:
    name, (a, b) = _name(rng), _two_goods(rng)
    na, pa, nb, pb = rng.randint(2, 9), rng.randint(2, 15), rng.randint(2, 9), rng.randint(3, 15)
    text_a, cost_a = multiply(pa, na)
    text_b, cost_b = multiply(pb, nb)
    text_sum, total = add(cost_a, cost_b)
    opening = rng.choice(
        (
            f"{name} buys {na} {a} at {pa} dollars each and {nb} {b} at {pb} dollars each.",
            f"At the {rng.choice(SHOPS)}, {name} takes {na} {a} for {pa} dollars each and {nb} {b} for {pb} dollars each.",
        )
    )
    steps = [
        f"The {a} cost {text_a} dollars.",
        f"The {b} cost {text_b} dollars.",
        f"Together they cost {text_sum} dollars.",
    ]
    if rng.random() < 0.5:
        return f"{opening} How many dollars does {name} spend?", steps, total
    paid = (total // 100 + rng.randint(1, 3)) * 100
    text_change, change = subtract(paid, total)
    steps.append(f"The change is {text_change} dollars.")
    return f"{opening} {name} pays with {paid} dollars. How much change does {name} get?", steps, change


def saving(rng: random.Random) -> Story:
    name = _name(rng)
    start, weekly, weeks = rng.randint(10, 90), rng.randint(3, 15), rng.randint(2, 9)
    text_saved, saved = multiply(weekly, weeks)
    text_total, total = add(start, saved)
    opening = rng.choice(
        (
            f"{name} has {start} dollars and saves {weekly} dollars each week for {weeks} weeks.",
            f"{name} starts with {start} dollars. Every week for {weeks} weeks, {name} saves {weekly} dollars.",
        )
    )
    steps = [f"In {weeks} weeks {name} saves {text_saved} dollars.", f"Then {name} has {text_total} dollars."]
    if rng.random() < 0.4:
        return f"{opening} How many dollars does {name} have in the end?", steps, total
    price = rng.randint(10, total - 5)
    text_left, left = subtract(total, price)
    item = rng.choice(("bike", "phone", "guitar", "desk", "coat", "tent"))
    steps.append(f"After buying the {item}, {name} has {text_left} dollars.")
    return f"{opening} Then {name} buys a {item} for {price} dollars. How many dollars are left?", steps, left


def distance(rng: random.Random) -> Story:
    name = _name(rng)
    v1, t1, v2, t2 = 5 * rng.randint(2, 16), rng.randint(2, 5), 5 * rng.randint(2, 16), rng.randint(2, 5)
    text_1, d1 = multiply(v1, t1)
    text_2, d2 = multiply(v2, t2)
    text_sum, total = add(d1, d2)
    how = rng.choice(("drives", "rides", "travels"))
    opening = f"{name} {how} {t1} hours at {v1} km per hour and then {t2} hours at {v2} km per hour."
    steps = [f"The first part is {text_1} km.", f"The second part is {text_2} km.", f"The whole way is {text_sum} km."]
    if rng.random() < 0.5:
        return f"{opening} How many km is that in total?", steps, total
    goal = total + rng.randint(5, 100)
    text_left, left = subtract(goal, total)
    steps.append(f"What is left is {text_left} km.")
    return f"{opening} The trip is {goal} km long. How many km are left?", steps, left


def sharing(rng: random.Random) -> Story:
    name, goods = _name(rng), rng.choice(GOODS)
    people, each = rng.randint(2, 9), rng.randint(3, 12)
    total = people * each
    given = rng.randint(5, 50)
    bags = rng.choice([d for d in range(2, 13) if (total + given) % d == 0] or [1])
    if bags == 1:
        start = total + given
        text_rest, _ = subtract(start, given)
        text_each, _ = divide(total, people)
        steps = [f"After the gift there are {text_rest} {goods}.", f"Each friend gets {text_each} {goods}."]
        problem = f"{name} has {start} {goods}, gives {given} to a neighbor and shares the rest equally among {people} friends."
        return f"{problem} How many {goods} does each friend get?", steps, each
    per_bag = (total + given) // bags
    text_all, _ = multiply(per_bag, bags)
    text_rest, _ = subtract(total + given, given)
    text_each, _ = divide(total, people)
    steps = [
        f"There are {text_all} {goods}.",
        f"After giving some away there are {text_rest} {goods}.",
        f"Each friend gets {text_each} {goods}.",
    ]
    problem = f"{name} has {bags} bags with {per_bag} {goods} each, gives away {given} {goods} and shares the rest equally among {people} friends."
    return f"{problem} How many {goods} does each friend get?", steps, each


def discount(rng: random.Random) -> Story:
    name, item = _name(rng), rng.choice(("jacket", "chair", "camera", "watch", "table", "radio", "carpet", "tablet"))
    rate = rng.choice((10, 20, 25, 50))
    price = rng.randint(2, 10) * 20
    count = rng.randint(2, 5)
    text_off, off = percent_of(rate, price)
    text_new, new = subtract(price, off)
    text_all, total = multiply(new, count)
    steps = [f"The discount is {text_off} dollars.", f"One {item} then costs {text_new} dollars."]
    opening = rng.choice(
        (
            f"A {item} costs {price} dollars. In the sale the price is {rate}% lower.",
            f"The price of a {item} is {price} dollars, but today there is a discount of {rate}%.",
        )
    )
    if rng.random() < 0.35:
        return f"{opening} How much does {name} pay for one {item}?", steps, new
    steps.append(f"All {count} cost {text_all} dollars.")
    if rng.random() < 0.6:
        return f"{opening} How much does {name} pay for {count} of them?", steps, total
    delivery = rng.randint(5, 30)
    text_end, end = add(total, delivery)
    steps.append(f"With delivery that is {text_end} dollars.")
    return (
        f"{opening} {name} buys {count} and pays {delivery} dollars for delivery. How much is that in total?",
        steps,
        end,
    )


def reading(rng: random.Random) -> Story:
    name = _name(rng)
    per_day, days, later, days_later = rng.randint(5, 20), rng.randint(2, 6), rng.randint(5, 20), rng.randint(2, 6)
    text_1, read_1 = multiply(per_day, days)
    text_2, read_2 = multiply(later, days_later)
    text_sum, read = add(read_1, read_2)
    slow = rng.randint(5, 12)
    in_days = rng.random() < 0.35
    pages = read + (slow * rng.randint(2, 12) if in_days else rng.randint(10, 90))
    text_left, left = subtract(pages, read)
    opening = (
        f"A book has {pages} pages. {name} reads {per_day} pages a day for {days} days and then {later} pages a day "
        f"for {days_later} days."
    )
    steps = [
        f"First {name} reads {text_1} pages.",
        f"Then {name} reads {text_2} pages.",
        f"That is {text_sum} pages.",
        f"There are {text_left} pages left.",
    ]
    if not in_days:
        return f"{opening} How many pages are left?", steps, left
    text_days, more_days = divide(left, slow)
    steps.append(f"They take {text_days} days.")
    return f"{opening} How many days do the other pages take at {slow} pages a day?", steps, more_days


def working(rng: random.Random) -> Story:
    name = _name(rng)
    wage, hours, days = rng.randint(8, 20), rng.randint(2, 8), rng.randint(2, 5)
    text_day, daily = multiply(wage, hours)
    text_all, total = multiply(daily, days)
    opening = f"{name} earns {wage} dollars per hour and works {hours} hours a day for {days} days."
    steps = [f"In a day {name} earns {text_day} dollars.", f"In {days} days {name} earns {text_all} dollars."]
    if rng.random() < 0.4:
        return f"{opening} How many dollars does {name} earn?", steps, total
    if rng.random() < 0.5:
        rent = rng.randint(20, total - 10)
        text_left, left = subtract(total, rent)
        steps.append(f"After the rent {name} has {text_left} dollars.")
        return f"{opening} The rent is {rent} dollars. How many dollars are left?", steps, left
    bonus = rng.randint(10, 100)
    text_end, end = add(total, bonus)
    steps.append(f"With the bonus that is {text_end} dollars.")
    return f"{opening} In the end there is a bonus of {bonus} dollars. How many dollars does {name} get?", steps, end


def garden(rng: random.Random) -> Story:
    place, plants = rng.choice(WHOLE_PLACES), rng.choice(PLANTS)
    rows, per_row, extra_rows, extra = rng.randint(3, 9), rng.randint(4, 15), rng.randint(2, 6), rng.randint(4, 15)
    text_1, n1 = multiply(per_row, rows)
    text_2, n2 = multiply(extra, extra_rows)
    text_sum, total = add(n1, n2)
    steps = [
        f"The old rows have {text_1} {plants}.",
        f"The new rows have {text_2} {plants}.",
        f"Now there are {text_sum} {plants}.",
    ]
    opening = (
        f"A {place} has {rows} rows of {per_row} {plants}. Then {extra_rows} new rows of {extra} {plants} are added."
    )
    if rng.random() < 0.5:
        return f"{opening} How many {plants} are there now?", steps, total
    lost = rng.randint(3, total // 2)
    text_left, left = subtract(total, lost)
    steps.append(f"After the storm there are {text_left} {plants}.")
    return f"{opening} A storm destroys {lost} of them. How many {plants} are left?", steps, left


def rectangle(rng: random.Random) -> Story:
    name = _name(rng)
    length, width = rng.randint(10, 30), rng.randint(3, 9)
    if rng.random() < 0.5:
        price = rng.randint(2, 5)
        text_side, side = add(length, width)
        text_around, around = multiply(side, 2)
        text_cost, cost = multiply(around, price)
        problem = (
            f"{name} builds a fence around a field that is {length} m long and {width} m wide. One meter of fence costs "
            f"{price} dollars. How much does the fence cost?"
        )
        steps = [
            f"Length and width are {text_side} m.",
            f"All around it is {text_around} m.",
            f"The fence costs {text_cost} dollars.",
        ]
        return problem, steps, cost
    used = rng.randint(10, length * width // 2)
    text_area, area = multiply(length, width)
    text_rest, rest = subtract(area, used)
    problem = (
        f"A field is {length} m long and {width} m wide. {name} uses {used} square meters of it for flowers. "
        "How many square meters are left?"
    )
    return problem, [f"The field has {text_area} square meters.", f"What is left is {text_rest} square meters."], rest


def comparing(rng: random.Random) -> Story:
    (a, b), goods = _two_names(rng), rng.choice(GOODS)
    n, times, more = rng.randint(4, 25), rng.randint(2, 4), rng.randint(3, 30)
    text_b, nb = multiply(n, times)
    text_more, n_third = add(nb, more)
    text_all, total = add(n, nb, n_third)
    c = _name(rng)
    while c in (a, b):
        c = _name(rng)
    opening = f"{a} has {n} {goods}. {b} has {times} times as many as {a}, and {c} has {more} more than {b}."
    steps = [f"{b} has {text_b} {goods}.", f"{c} has {text_more} {goods}."]
    if rng.random() < 0.35:
        return f"{opening} How many {goods} does {c} have?", steps, n_third
    steps.append(f"Together they have {text_all} {goods}.")
    return f"{opening} How many {goods} do they have together?", steps, total


def packing(rng: random.Random) -> Story:
    place, goods = rng.choice(WHOLE_PLACES), rng.choice(GOODS)
    size, boxes = rng.randint(2, 9), rng.randint(4, 20)
    total = size * boxes
    days = rng.choice([d for d in range(2, 13) if total % d == 0] or [1])
    per_day = total // days
    price = rng.randint(3, 10)
    text_all, _ = multiply(per_day, days)
    text_boxes, _ = divide(total, size)
    text_money, money = multiply(boxes, price)
    opening = f"A {place} makes {per_day} {goods} a day for {days} days and packs them in boxes of {size}."
    steps = [f"It makes {text_all} {goods}.", f"They fill {text_boxes} boxes."]
    if rng.random() < 0.4:
        return f"{opening} How many boxes does it need?", steps, boxes
    steps.append(f"It earns {text_money} dollars.")
    return f"{opening} It sells each box for {price} dollars. How many dollars does it earn?", steps, money


def election(rng: random.Random) -> Story:
    (a, b) = _two_names(rng)
    voters = rng.randint(2, 10) * 20
    rate = rng.choice((10, 20, 25, 30, 40, 60))
    text_a, na = percent_of(rate, voters)
    text_rest, rest = subtract(voters, na)
    opening = f"In a vote with {voters} voters, {a} gets {rate}% of the votes and {b} gets the rest."
    steps = [f"{a} gets {text_a} votes.", f"{b} gets {text_rest} votes."]
    if rng.random() < 0.5:
        return f"{opening} How many votes does {b} get?", steps, rest
    text_gap, gap = subtract(max(na, rest), min(na, rest))
    steps.append(f"The gap is {text_gap} votes.")
    return f"{opening} How many votes are between them?", steps, gap


FAMILIES: tuple[Callable[[random.Random], Story], ...] = (
    shopping, saving, distance, sharing, discount, reading, working, garden, rectangle, comparing, packing, election,
)  # fmt: skip


def sample(rng: random.Random) -> dict[str, str]:
    """One row of the `math` format: `problem`, and `solution` that ends in `\\boxed{}`.

    Args:
        rng: source of all randomness; the same state gives the same row.
    """
    problem, steps, answer = rng.choice(FAMILIES)(rng)
    return {"problem": problem, "solution": " ".join(steps) + f" The final answer is $\\boxed{{{answer}}}$."}
