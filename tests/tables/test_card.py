"""The dataset card: what it may say, and how it is compared with a run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evidentia.errors import InputError
from evidentia.tables import CardMismatch, DatasetCard, Target, check_card, load_card, read_run

from .conftest import Write, says


def test_redsm5_ships_with_the_package():
    card = load_card("redsm5")
    assert (card.posts, card.n_criteria, card.queries, card.positives) == (1477, 10, 14770, 1379)
    assert card.posts * card.n_criteria == card.queries
    assert card.fold_sizes == (295, 295, 295, 295, 297)
    assert sum(card.fold_sizes) == card.posts
    assert card.every_pair
    assert card.descriptions["A.9"] == "suicidal thoughts"
    assert card.targets["ScreeningSensitivity"] == Target(at_least=0.995)


def test_the_card_of_the_synthetic_corpus_differs_in_what_is_expected():
    real, invented = load_card("redsm5"), load_card("synthetic")
    assert real.expected
    assert replace(real, name="synthetic", title=invented.title, expected=invented.expected) == invented
    assert not invented.expected


def test_a_card_of_ones_own(write: Write):
    path = write('name = "x"', "n_criteria = 3", "fold_sizes = [3, 2]", "[expected]", "AUROC = [0.5, 1]", name="x.toml")
    card = load_card(path)
    assert card == DatasetCard("x", n_criteria=3, fold_sizes=(2, 3), expected=card.expected)
    assert dict(card.expected) == {"AUROC": (0.5, 1.0)}


@pytest.mark.parametrize(
    ("line", "code", "parts"),
    [
        ("post = 3", "CARD_KEY", ("'post'", "posts", "criteria")),
        ('posts = "many"', "CARD_TYPE", ("posts must be a whole number", "'many'")),
        ("posts = -1", "CARD_TYPE", ("posts must be a whole number", "-1")),
        ("every_pair = 1", "CARD_TYPE", ("true or false",)),
        ('criteria = ["A", "A"]', "CARD_TYPE", ("different ids",)),
        ("expected = { AUROC = [1, 0] }", "CARD_TYPE", ("[low, high]",)),
        ("expected = { AUROC = [0, nan] }", "CARD_TYPE", ("[low, high]",)),
        ("expected = { AUROC = [0.5, 0.8, 1] }", "CARD_TYPE", ("[low, high]",)),
        ("expected = { AUROC = 0.9 }", "CARD_TYPE", ("[low, high]",)),
        (f"expected = {{ AUROC = [0, 1{'0' * 400}] }}", "CARD_TYPE", ("[low, high]",)),
        (f"posts = {'9' * 5000}", "BROKEN_CARD", ("too many digits",)),
        (f"posts = {'[' * 5000}{']' * 5000}", "BROKEN_CARD", ("too deep",)),
        ("targets = { AUROC = 0.9 }", "CARD_TYPE", ("at_least",)),
        ('n_criteria = 3\ncriteria = ["A"]', "CARD_CONFLICT", ("n_criteria is 3", "lists 1")),
        ("posts = ", "BROKEN_CARD", ("TOML", "line 2")),
    ],
)
def test_mistakes_in_a_card(write: Write, line, code, parts):
    with pytest.raises(InputError) as error:
        load_card(write('name = "x"', line, name="x.toml"))
    assert [p.code for p in error.value.problems] == [code]
    says(str(error.value), "x.toml", *parts)


def test_a_card_needs_a_name(write: Write):
    with pytest.raises(InputError, match="name is missing"):
        load_card(write("posts = 1", name="x.toml"))


def test_unknown_card_lists_the_built_in_ones():
    with pytest.raises(InputError, match="redsm5"):
        load_card("nowhere")


def test_counts_are_compared_and_nothing_is_raised(write: Write):
    path = write("post_id,criterion_id,fold,has_evidence", "p1,A.2,0,1", "p1,A.1,0,1", "p2,A.1,1,0", "p3,A.1,1,0")
    queries = read_run(path).queries
    card = DatasetCard("x", posts=4, criteria=("A.2", "A.1"), queries=4, positives=1, fold_sizes=(2, 2))
    assert check_card(card, queries) == (
        CardMismatch("posts", 4, 3),
        CardMismatch("positives", 1, 2),
        CardMismatch("fold_sizes", (2, 2), (1, 2)),
    )
    assert check_card(DatasetCard("x"), queries) == ()


def test_a_run_remembers_its_card(write: Write):
    path = write("post_id,criterion_id,has_evidence", "p1,A.1,1")
    card = DatasetCard("x", posts=1)
    assert read_run(path, card=card).card is card
