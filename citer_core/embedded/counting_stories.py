"""Word problems about counts: ways, shares, pages, rows, comparisons, votes.

One function per family, `rng -> (problem, steps, answer)`.
"""

from __future__ import annotations

import random

from citer_core.embedded.arithmetic import add, divide, multiply, percent_of, subtract
from citer_core.embedded.story_words import GOODS, PLANTS, WHOLE_PLACES, Story, a_name, two_names
from citer_core.embedded.wording import in_total, independent, operands, say


def distance(rng: random.Random) -> Story:
    name = a_name(rng)
    v1, t1, v2, t2 = 5 * rng.randint(2, 12), rng.randint(2, 5), 5 * rng.randint(2, 12), rng.randint(2, 5)
    text_1, d1 = multiply(*operands(rng, v1, t1))
    text_2, d2 = multiply(*operands(rng, v2, t2))
    text_sum, total = add(*operands(rng, d1, d2))
    how = rng.choice(("drives", "rides", "travels"))
    opening = f"{name} {how} {t1} hours at {v1} km per hour and then {t2} hours at {v2} km per hour."
    parts = [
        say(
            rng,
            f"the {part} part is {text} km",
            f"in the {part} part {name} {how} {text} km",
            f"the {part} part has {text} km",
            f"for the {part} part it is {text} km",
        )
        + "."
        for part, text in (("first", text_1), ("second", text_2))
    ]
    steps = independent(rng, parts)
    steps.append(
        say(
            rng,
            f"the whole way is {text_sum} km",
            f"{name} {how} {text_sum} km",
            f"both parts make {text_sum} km",
            f"that is {text_sum} km",
        )
        + f"{in_total(rng)}."
    )
    if rng.random() < 0.5:
        return f"{opening} How many km is that in total?", steps, total
    goal = total + rng.randint(5, 60)
    text_left, left = subtract(goal, total)
    steps.append(
        say(
            rng,
            f"what is left is {text_left} km.",
            f"there are {text_left} km left.",
            f"{name} still has {text_left} km to go.",
        )
    )
    return f"{opening} The trip is {goal} km long. How many km are left?", steps, left


def sharing(rng: random.Random) -> Story:
    name, goods = a_name(rng), rng.choice(GOODS)
    people, each = rng.randint(2, 9), rng.randint(3, 12)
    total = people * each
    given = rng.randint(5, 50)
    bags = rng.choice([d for d in range(2, 13) if (total + given) % d == 0] or [1])
    text_each, _ = divide(total, people)
    for_each = say(
        rng,
        f"each friend gets {text_each} {goods}.",
        f"every friend gets {text_each} {goods}.",
        f"there are {text_each} {goods} for each friend.",
        f"one friend gets {text_each} {goods}.",
    )
    text_rest, _ = subtract(total + given, given)
    after = say(
        rng,
        f"after giving some away there are {text_rest} {goods}",
        f"{name} keeps {text_rest} {goods}",
        f"after the gift there are {text_rest} {goods}",
        f"the rest is {text_rest} {goods}",
    )
    if bags == 1:
        problem = f"{name} has {total + given} {goods}, gives {given} to a neighbor and shares the rest equally among {people} friends."
        return f"{problem} How many {goods} does each friend get?", [f"{after}.", for_each], each
    per_bag = (total + given) // bags
    text_all, _ = multiply(*operands(rng, per_bag, bags))
    every = say(
        rng,
        f"there are {text_all} {goods}",
        f"{name} has {text_all} {goods}",
        f"the bags have {text_all} {goods}",
        f"{bags} bags make {text_all} {goods}",
    )
    steps = [f"{every}{in_total(rng)}.", f"{after}.", for_each]
    problem = f"{name} has {bags} bags with {per_bag} {goods} each, gives away {given} {goods} and shares the rest equally among {people} friends."
    return f"{problem} How many {goods} does each friend get?", steps, each


def reading(rng: random.Random) -> Story:
    name = a_name(rng)
    per_day, days, later, days_later = rng.randint(5, 15), rng.randint(2, 6), rng.randint(5, 15), rng.randint(2, 6)
    text_1, read_1 = multiply(*operands(rng, per_day, days))
    text_2, read_2 = multiply(*operands(rng, later, days_later))
    text_sum, read = add(*operands(rng, read_1, read_2))
    slow = rng.randint(5, 12)
    in_days = rng.random() < 0.35
    pages = read + (slow * rng.randint(2, 8) if in_days else rng.randint(10, 60))
    text_left, left = subtract(pages, read)
    opening = (
        f"A book has {pages} pages. {name} reads {per_day} pages a day for {days} days and then {later} pages a day "
        f"for {days_later} days."
    )
    parts = [
        say(
            rng,
            f"in the {part} days {name} reads {text} pages.",
            f"for the {part} days it is {text} pages.",
            f"the {part} part is {text} pages.",
            f"the {part} days give {text} pages.",
        )
        for part, text in (("first", text_1), ("second", text_2))
    ]
    steps = [
        *independent(rng, parts),
        say(
            rng,
            f"that is {text_sum} pages",
            f"{name} reads {text_sum} pages",
            f"both parts make {text_sum} pages",
            f"together they are {text_sum} pages",
        )
        + f"{in_total(rng)}.",
        say(
            rng,
            f"there are {text_left} pages left.",
            f"what is left is {text_left} pages.",
            f"the rest is {text_left} pages.",
            f"{name} has {text_left} pages left.",
        ),
    ]
    if not in_days:
        return f"{opening} How many pages are left?", steps, left
    text_days, more_days = divide(left, slow)
    steps.append(
        say(
            rng,
            f"they take {text_days} days.",
            f"{name} needs {text_days} days for them.",
            f"the rest takes {text_days} days.",
        )
    )
    return f"{opening} How many days do the other pages take at {slow} pages a day?", steps, more_days


def garden(rng: random.Random) -> Story:
    place, plants = rng.choice(WHOLE_PLACES), rng.choice(PLANTS)
    rows, per_row, extra_rows, extra = rng.randint(3, 9), rng.randint(4, 15), rng.randint(2, 6), rng.randint(4, 15)
    text_1, n1 = multiply(*operands(rng, per_row, rows))
    text_2, n2 = multiply(*operands(rng, extra, extra_rows))
    text_sum, total = add(*operands(rng, n1, n2))
    parts = [
        say(
            rng,
            f"the {part} rows have {text} {plants}",
            f"in the {part} rows there are {text} {plants}",
            f"the {part} rows make {text} {plants}",
        )
        + f"{in_total(rng)}."
        for part, text in (("old", text_1), ("new", text_2))
    ]
    steps = [
        *independent(rng, parts),
        say(
            rng,
            f"there are {text_sum} {plants}",
            f"the {place} has {text_sum} {plants}",
            f"together they make {text_sum} {plants}",
            f"that is {text_sum} {plants}",
        )
        + f"{in_total(rng)}.",
    ]
    opening = (
        f"A {place} has {rows} rows of {per_row} {plants}. Then {extra_rows} new rows of {extra} {plants} are added."
    )
    if rng.random() < 0.5:
        return f"{opening} How many {plants} are there now?", steps, total
    lost = rng.randint(3, min(total // 2, 60))
    text_left, left = subtract(total, lost)
    steps.append(
        say(
            rng,
            f"after the storm there are {text_left} {plants}.",
            f"there are {text_left} {plants} left.",
            f"the {place} has {text_left} {plants} left.",
            f"what is left is {text_left} {plants}.",
        )
    )
    return f"{opening} A storm destroys {lost} of them. How many {plants} are left?", steps, left


def comparing(rng: random.Random) -> Story:
    (a, b), goods = two_names(rng), rng.choice(GOODS)
    n, times, more = rng.randint(4, 20), rng.randint(2, 4), rng.randint(3, 30)
    text_b, nb = multiply(*operands(rng, n, times))
    text_more, n_third = add(*operands(rng, nb, more))
    text_all, total = add(*operands(rng, n, nb, n_third))
    c = a_name(rng)
    while c in (a, b):
        c = a_name(rng)
    opening = f"{a} has {n} {goods}. {b} has {times} times as many as {a}, and {c} has {more} more than {b}."
    steps = [
        say(
            rng,
            f"{who} has {text} {goods}",
            f"{who} owns {text} {goods}",
            f"for {who} there are {text} {goods}",
            f"the {goods} of {who} are {text}",
        )
        + "."
        for who, text in ((b, text_b), (c, text_more))
    ]
    if rng.random() < 0.35:
        return f"{opening} How many {goods} does {c} have?", steps, n_third
    steps.append(
        say(
            rng,
            f"together they have {text_all} {goods}",
            f"there are {text_all} {goods}",
            f"that is {text_all} {goods}",
            f"all three have {text_all} {goods}",
        )
        + f"{in_total(rng)}."
    )
    return f"{opening} How many {goods} do they have together?", steps, total


def election(rng: random.Random) -> Story:
    (a, b) = two_names(rng)
    voters = rng.randint(2, 10) * 20
    rate = rng.choice((10, 20, 25, 30, 40, 60))
    text_a, na = percent_of(rate, voters)
    text_rest, rest = subtract(voters, na)
    opening = f"In a vote with {voters} voters, {a} gets {rate}% of the votes and {b} gets the rest."
    steps = [
        say(
            rng,
            f"{a} gets {text_a} votes",
            f"{rate}% of the votes are {text_a} votes",
            f"the votes for {a} are {text_a}",
            f"{a} has {text_a} votes",
        )
        + f"{in_total(rng)}.",
        say(
            rng,
            f"{b} gets {text_rest} votes",
            f"the rest is {text_rest} votes",
            f"for {b} there are {text_rest} votes",
            f"{b} has {text_rest} votes",
        )
        + f"{in_total(rng)}.",
    ]
    if rng.random() < 0.5:
        return f"{opening} How many votes does {b} get?", steps, rest
    text_gap, gap = subtract(max(na, rest), min(na, rest))
    steps.append(
        say(
            rng,
            f"the gap is {text_gap} votes.",
            f"between them there are {text_gap} votes.",
            f"they are {text_gap} votes apart.",
            f"that is a gap of {text_gap} votes.",
        )
    )
    return f"{opening} How many votes are between them?", steps, gap
