"""Word problems about money: buying, saving, earning, fencing in, selling.

One function per family, `rng -> (problem, steps, answer)`.
"""

from __future__ import annotations

import random

from citer_core.embedded.arithmetic import add, divide, multiply, percent_of, subtract
from citer_core.embedded.story_words import GOODS, SHOPS, WHOLE_PLACES, Story, a_name, two_goods
from citer_core.embedded.wording import in_total, independent, operands, say


def shopping(rng: random.Random) -> Story:
    name, (a, b) = a_name(rng), two_goods(rng)
    na, pa, nb, pb = rng.randint(2, 9), rng.randint(2, 15), rng.randint(2, 9), rng.randint(3, 15)
    text_a, cost_a = multiply(*operands(rng, pa, na))
    text_b, cost_b = multiply(*operands(rng, pb, nb))
    text_sum, total = add(*operands(rng, cost_a, cost_b))
    opening = rng.choice(
        (
            f"{name} buys {na} {a} at {pa} dollars each and {nb} {b} at {pb} dollars each.",
            f"At the {rng.choice(SHOPS)}, {name} takes {na} {a} for {pa} dollars each and {nb} {b} for {pb} dollars each.",
        )
    )
    each = [
        say(
            rng,
            f"the {x} cost {text} dollars",
            f"for the {x} {name} pays {text} dollars",
            f"for the {x} it is {text} dollars",
        )
        + f"{in_total(rng)}."
        for x, text in ((a, text_a), (b, text_b))
    ]
    steps = independent(rng, each)
    steps.append(
        say(
            rng,
            f"together they cost {text_sum} dollars",
            f"{name} spends {text_sum} dollars",
            f"the sum is {text_sum} dollars",
            f"that makes {text_sum} dollars",
        )
        + f"{in_total(rng)}."
    )
    if rng.random() < 0.5:
        return f"{opening} How many dollars does {name} spend?", steps, total
    paid = (total // 10 + rng.randint(1, 5)) * 10
    text_change, change = subtract(paid, total)
    steps.append(
        say(
            rng,
            f"the change is {text_change} dollars.",
            f"{name} gets back {text_change} dollars.",
            f"there are {text_change} dollars of change.",
        )
    )
    return f"{opening} {name} pays with {paid} dollars. How much change does {name} get?", steps, change


def saving(rng: random.Random) -> Story:
    name = a_name(rng)
    start, weekly, weeks = rng.randint(10, 90), rng.randint(3, 15), rng.randint(2, 9)
    text_saved, saved = multiply(*operands(rng, weekly, weeks))
    text_total, total = add(*operands(rng, start, saved))
    opening = rng.choice(
        (
            f"{name} has {start} dollars and saves {weekly} dollars each week for {weeks} weeks.",
            f"{name} starts with {start} dollars. Every week for {weeks} weeks, {name} saves {weekly} dollars.",
        )
    )
    steps = [
        say(
            rng,
            f"in {weeks} weeks {name} saves {text_saved} dollars",
            f"{name} saves {text_saved} dollars",
            f"the savings are {text_saved} dollars",
            f"{weeks} weeks give {text_saved} dollars",
        )
        + f"{in_total(rng)}.",
        say(
            rng,
            f"{name} has {text_total} dollars",
            f"with the start there are {text_total} dollars",
            f"this makes {text_total} dollars",
            f"{name} then owns {text_total} dollars",
        )
        + f"{in_total(rng)}.",
    ]
    if rng.random() < 0.4:
        return f"{opening} How many dollars does {name} have in the end?", steps, total
    price = rng.randint(10, min(total - 5, 150))
    text_left, left = subtract(total, price)
    item = rng.choice(("bike", "phone", "guitar", "desk", "coat", "tent"))
    steps.append(
        say(
            rng,
            f"after buying the {item}, {name} has {text_left} dollars.",
            f"{name} has {text_left} dollars left.",
            f"there are {text_left} dollars left.",
            f"what is left is {text_left} dollars.",
        )
    )
    return f"{opening} Then {name} buys a {item} for {price} dollars. How many dollars are left?", steps, left


def discount(rng: random.Random) -> Story:
    name, item = a_name(rng), rng.choice(("jacket", "chair", "camera", "watch", "table", "radio", "carpet", "tablet"))
    rate = rng.choice((10, 20, 25, 50))
    price = rng.randint(2, 10) * 20
    count = rng.randint(2, 5)
    text_off, off = percent_of(rate, price)
    text_new, new = subtract(price, off)
    text_all, total = multiply(*operands(rng, new, count))
    steps = [
        say(
            rng,
            f"the discount is {text_off} dollars.",
            f"the price is {text_off} dollars lower.",
            f"{rate}% of the price is {text_off} dollars.",
            f"{name} saves {text_off} dollars on each.",
        ),
        say(
            rng,
            f"one {item} then costs {text_new} dollars.",
            f"the new price is {text_new} dollars.",
            f"each {item} is {text_new} dollars.",
            f"{name} pays {text_new} dollars for one {item}.",
        ),
    ]
    opening = rng.choice(
        (
            f"A {item} costs {price} dollars. In the sale the price is {rate}% lower.",
            f"The price of a {item} is {price} dollars, but today there is a discount of {rate}%.",
        )
    )
    if rng.random() < 0.35:
        return f"{opening} How much does {name} pay for one {item}?", steps, new
    steps.append(
        say(
            rng,
            f"all {count} cost {text_all} dollars",
            f"{name} pays {text_all} dollars for all {count}",
            f"{count} of them cost {text_all} dollars",
            f"that makes {text_all} dollars",
        )
        + f"{in_total(rng)}."
    )
    if rng.random() < 0.6:
        return f"{opening} How much does {name} pay for {count} of them?", steps, total
    delivery = rng.randint(5, 30)
    text_end, end = add(*operands(rng, total, delivery))
    steps.append(
        say(
            rng,
            f"with delivery that is {text_end} dollars",
            f"with delivery {name} pays {text_end} dollars",
            f"the sum is {text_end} dollars",
        )
        + f"{in_total(rng)}."
    )
    return (
        f"{opening} {name} buys {count} and pays {delivery} dollars for delivery. How much is that in total?",
        steps,
        end,
    )


def working(rng: random.Random) -> Story:
    name = a_name(rng)
    wage, hours, days = rng.randint(8, 16), rng.randint(2, 7), rng.randint(2, 5)
    text_day, daily = multiply(*operands(rng, wage, hours))
    text_all, total = multiply(*operands(rng, daily, days))
    opening = f"{name} earns {wage} dollars per hour and works {hours} hours a day for {days} days."
    steps = [
        say(
            rng,
            f"in a day {name} earns {text_day} dollars.",
            f"{name} earns {text_day} dollars a day.",
            f"each day is {text_day} dollars.",
            f"one day makes {text_day} dollars.",
        ),
        say(
            rng,
            f"in {days} days {name} earns {text_all} dollars",
            f"{name} gets {text_all} dollars",
            f"{days} days make {text_all} dollars",
            f"for all {days} days it is {text_all} dollars",
        )
        + f"{in_total(rng)}.",
    ]
    if rng.random() < 0.4:
        return f"{opening} How many dollars does {name} earn?", steps, total
    if rng.random() < 0.5:
        rent = rng.randint(20, min(total - 10, 150))
        text_left, left = subtract(total, rent)
        steps.append(
            say(
                rng,
                f"after the rent {name} has {text_left} dollars.",
                f"there are {text_left} dollars left.",
                f"{name} has {text_left} dollars left.",
                f"what is left is {text_left} dollars.",
            )
        )
        return f"{opening} The rent is {rent} dollars. How many dollars are left?", steps, left
    bonus = rng.randint(10, 60)
    text_end, end = add(*operands(rng, total, bonus))
    steps.append(
        say(
            rng,
            f"with the bonus that is {text_end} dollars",
            f"with the bonus {name} gets {text_end} dollars",
            f"the sum is {text_end} dollars",
        )
        + f"{in_total(rng)}."
    )
    return f"{opening} In the end there is a bonus of {bonus} dollars. How many dollars does {name} get?", steps, end


def rectangle(rng: random.Random) -> Story:
    name = a_name(rng)
    length, width = rng.randint(10, 30), rng.randint(3, 9)
    if rng.random() < 0.5:
        price = rng.randint(2, 5)
        text_side, side = add(*operands(rng, length, width))
        text_around, around = multiply(*operands(rng, side, 2))
        text_cost, cost = multiply(*operands(rng, around, price))
        problem = (
            f"{name} builds a fence around a field that is {length} m long and {width} m wide. One meter of fence costs "
            f"{price} dollars. How much does the fence cost?"
        )
        steps = [
            say(
                rng,
                f"length and width are {text_side} m",
                f"one long and one wide side are {text_side} m",
                f"half the way around is {text_side} m",
            )
            + f"{in_total(rng)}.",
            say(
                rng,
                f"all around it is {text_around} m.",
                f"the fence is {text_around} m long.",
                f"{name} needs {text_around} m of fence.",
                f"the way around is {text_around} m.",
            ),
            say(
                rng,
                f"the fence costs {text_cost} dollars",
                f"{name} pays {text_cost} dollars",
                f"that makes {text_cost} dollars",
                f"all of it costs {text_cost} dollars",
            )
            + f"{in_total(rng)}.",
        ]
        return problem, steps, cost
    used = rng.randint(10, min(length * width // 2, 80))
    text_area, area = multiply(*operands(rng, length, width))
    text_rest, rest = subtract(area, used)
    problem = (
        f"A field is {length} m long and {width} m wide. {name} uses {used} square meters of it for flowers. "
        "How many square meters are left?"
    )
    steps = [
        say(
            rng,
            f"the field has {text_area} square meters",
            f"the whole field is {text_area} square meters",
            f"there are {text_area} square meters",
            f"length times width is {text_area} square meters",
        )
        + f"{in_total(rng)}.",
        say(
            rng,
            f"what is left is {text_rest} square meters.",
            f"there are {text_rest} square meters left.",
            f"the rest is {text_rest} square meters.",
            f"{name} has {text_rest} square meters left.",
        ),
    ]
    return problem, steps, rest


def packing(rng: random.Random) -> Story:
    place, goods = rng.choice(WHOLE_PLACES), rng.choice(GOODS)
    size, boxes = rng.randint(2, 9), rng.randint(4, 20)
    total = size * boxes
    days = rng.choice([d for d in range(2, 13) if total % d == 0] or [1])
    per_day = total // days
    price = rng.randint(3, 10)
    text_all, _ = multiply(*operands(rng, per_day, days))
    text_boxes, _ = divide(total, size)
    text_money, money = multiply(*operands(rng, boxes, price))
    opening = f"A {place} makes {per_day} {goods} a day for {days} days and packs them in boxes of {size}."
    steps = [
        say(
            rng,
            f"it makes {text_all} {goods}",
            f"the {place} makes {text_all} {goods}",
            f"there are {text_all} {goods}",
            f"{days} days make {text_all} {goods}",
        )
        + f"{in_total(rng)}.",
        say(
            rng,
            f"they fill {text_boxes} boxes.",
            f"it needs {text_boxes} boxes.",
            f"that is {text_boxes} boxes.",
            f"there are {text_boxes} boxes.",
        ),
    ]
    if rng.random() < 0.4:
        return f"{opening} How many boxes does it need?", steps, boxes
    steps.append(
        say(
            rng,
            f"it earns {text_money} dollars",
            f"the {place} earns {text_money} dollars",
            f"the boxes make {text_money} dollars",
            f"that makes {text_money} dollars",
        )
        + f"{in_total(rng)}."
    )
    return f"{opening} It sells each box for {price} dollars. How many dollars does it earn?", steps, money
