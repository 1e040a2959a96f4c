"""Ids in a page: pseudonyms everywhere by default, the ids as they are only on request."""

import os
import stat
from pathlib import Path

import polars as pl
import pytest

import evidentia
from builders.runs import Saved
from evidentia.errors import InputError
from evidentia.evaluation import ensure_writable
from evidentia.protocol.provenance import posts_sha256
from evidentia.report.page import Content, read_content, render, unpack
from evidentia.report.page.mentions import Mentions, hidden_manifest
from evidentia.report.page.pseudonyms import KEY_FILE, Aliases, in_order, key_of, pseudonyms, write_key
from evidentia.results import dumps, dumps_by_line, loads

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "quotes": 'he said "it\'s" `${1}` \\n',
    "emoji": "post 😴🧠 x1",
    "right to left": "\u202e\u0645\u0631\u062d\u0628\u0627-12",
    "long": "x9" * 99,
    "punctuation": "a;b,c:d/e&f=g%h#i",
    "formula": "=HYPERLINK(1)",
    "template": "{{ content.manifest }}",
    "python": "%s {0} \\g<1>",
}


def folder_of(ids: dict[str, list[str]], folder: Path, **options: object) -> Path:
    """A result of one query per post: the first sentence is gold, the second was returned."""
    rows = [
        {
            "post_id": post,
            "criterion_id": "A.1",
            "gold_sent_uids": uids[0],
            "ranked_sent_uids": "|".join(reversed(uids)),
            "selected_sent_uids": uids[1],
            "prob": 0.9,
        }
        for post, uids in ids.items()
    ]
    run = evidentia.read_run(pl.DataFrame(rows), by=tuple(options.pop("by", ())))
    evidentia.evaluate(run, resamples=0, **options).save(folder)
    return folder


def test_the_run_at_hand_makes_the_same_content_as_the_folder(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "post_id": [*HOSTILE.values(), "10", "9"],
            "criterion_id": "=A.1",
            "gold_sent_uids": [f"{number}a|{number}b" if number % 2 else "" for number in range(len(HOSTILE) + 2)],
            "ranked_sent_uids": [f"{number}b|{number}c|{number}a" for number in range(len(HOSTILE) + 2)],
            "prob": [number / 11 for number in range(len(HOSTILE) + 2)],
            "tau_neg": 0.25,
            "tau_pos": 0.5,
        }
    )
    run = evidentia.read_run(frame)
    evidentia.evaluate(run, resamples=0, report=False).save(tmp_path / "out")
    content = read_content(tmp_path / "out", read=run)
    assert content.errors["rows"]
    assert content == read_content(tmp_path / "out")


def everything(content: Content) -> str:
    """The page, and beside it what it carries, as plain text."""
    page = render(content)
    return page + dumps(unpack(page).to_dict())


def with_messages(folder: Path, *messages: str) -> None:
    """Put messages into the notes and a check of a result."""
    path = folder / "summary.json"
    summary = loads(path.read_text(encoding="utf-8"))
    summary["notes"] += messages
    summary["checks"][0]["message"] = " ".join(messages)
    entry = next(iter(summary["measures"].values()))
    entry["warnings"] = [*entry["warnings"], *messages]
    path.write_text(
        dumps_by_line(summary, ("measures", "not_computed", "other_definitions", "checks")), encoding="utf-8"
    )


# ---- no id in the page


def test_no_id_of_the_run_is_in_the_page_or_in_what_it_carries(split_saved: Saved) -> None:
    frame = pl.read_csv(split_saved.folder / "per_query.csv", infer_schema=False)
    tuned = pl.read_parquet(split_saved.folder / "tune.parquet")
    uids = {uid for cell in frame["ranked_sent_uids"] for uid in (cell or "").split("|") if uid}
    ids = {*frame["post_id"], *tuned["post_id"], *uids}
    assert len(ids) > 300

    hidden = everything(read_content(split_saved.folder))
    shown = everything(read_content(split_saved.folder, show_ids=True))

    assert not [one for one in ids if one in hidden]
    assert all(one in shown for one in {*frame["post_id"], *uids})
    assert '"tuned_on_posts"' in hidden


def test_ids_that_messages_name_are_replaced_in_the_whole_page(tmp_path: Path) -> None:
    ids = {f"t3_k{n}q": [f"t3_k{n}q-s{m}" for m in (1, 2)] for n in range(3)}
    folder = folder_of(ids, tmp_path / "out")
    with_messages(
        folder,
        "run.csv: 2 rows are odd (first: line 3, post 't3_k0q', criterion 'A.1', uid 't3_k0q-s1').",
        "first group: t3_k1q, t3_k2q; also t3_k1q/A.1, t3_k2q-s2.",
    )

    content = read_content(folder)
    text = everything(content)

    assert not [one for post, uids in ids.items() for one in (post, *uids) if one in text]
    first, second = content.queries["post_id"][:2]
    assert f"post '{first}', criterion 'A.1', uid '{first}.1'" in content.numbers["notes"][0]
    assert content.numbers["notes"][1].startswith(f"first group: {second}, ")
    assert "t3_k0q-s1" in everything(read_content(folder, show_ids=True))


@pytest.mark.sample(every=3)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_ids_are_hidden_and_shown_only_escaped(name: str, tmp_path: Path) -> None:
    one = HOSTILE[name]
    folder = folder_of({one: [f"{one}_1", f"{one}_2"], "other": ["o_1", "o_2"]}, tmp_path / "out")
    with_messages(folder, f"2 texts alike (first group: {one}, other).")

    hidden, shown = read_content(folder), read_content(folder, show_ids=True)

    assert not [text for text in _strings(hidden.to_dict()) if one in text]
    assert hidden.queries["ranked_sent_uids"][hidden.queries["post_id"].index(hidden.queries["post_id"][0])]
    assert one in shown.queries["post_id"]
    assert f"{one}_1" in shown.queries["gold_sent_uids"]
    assert unpack(render(shown)) == shown
    assert "<script>alert(1)" not in render(shown)


def test_uids_of_any_length_are_hidden(tmp_path: Path) -> None:
    long = ["9" * 10_000, "u" * 10_000]
    folder = folder_of({"post": long, "next": ["n_1", "n_2"]}, tmp_path / "out")

    text = everything(read_content(folder))

    assert len(text) < len(everything(read_content(folder, show_ids=True))) - 20_000
    assert "9" * 30 not in text


def test_groups_by_post_have_pseudonyms(tmp_path: Path) -> None:
    ids = {f"user{n}77": [f"user{n}77_1", f"user{n}77_2"] for n in range(3)}
    folder = folder_of(ids, tmp_path / "out", by=("post_id",))
    assert "Queries[post_id=user077]" in (folder / "summary.json").read_text()

    content = read_content(folder)

    assert "user" not in "".join(content.numbers["measures"])
    assert f"Queries[post_id={content.queries['post_id'][0]}]" in content.numbers["measures"]
    assert not [one for one in ids if one in everything(content)]


def test_posts_that_only_the_manifest_names_are_hidden(tmp_path: Path) -> None:
    """Thresholds that were applied were tuned on posts of another file."""
    folder = folder_of({"alpha1": ["s_1", "s_2"]}, tmp_path / "out")
    path = folder / "manifest.json"
    tuned_on = {"fold": None, "score": "prob", "posts": ["beta22"], "posts_sha256": posts_sha256(["beta22"])}
    manifest = loads(path.read_text()) | {"applied_thresholds": {"folds": [{"threshold": {"tuned_on": tuned_on}}]}}
    path.write_text(dumps(manifest))

    content = read_content(folder)
    told = content.manifest["applied_thresholds"]["folds"][0]["threshold"]["tuned_on"]

    assert "beta22" not in everything(content)
    assert posts_sha256(["beta22"]) not in everything(content)  # one id is soon guessed
    assert told["posts"][0].startswith("p2-")
    assert told["posts_sha256"] == posts_sha256(told["posts"])


# ---- nothing else is changed


def test_a_summary_whose_messages_name_no_id_is_handed_out_unchanged(saved: Saved) -> None:
    assert read_content(saved.folder).summary == (saved.folder / "summary.json").read_text(encoding="utf-8")


def test_short_ids_garble_neither_numbers_nor_words(tmp_path: Path) -> None:
    """Posts called 0, 1, a, A.1, AUROC and queries: no number, no name and no word of the page is changed."""
    ids = {one: [f"{one}:1", f"{one}:2"] for one in ("0", "1", "a", "A.1", "AUROC", "queries", "gate")}
    folder = folder_of(ids, tmp_path / "out")
    message = "1 row of a fold '1' in A.1: AUROC is 0.1, 1 queries, 1,477 of criterion 'A.1' (first: line 1, post '1')"
    with_messages(folder, message)
    summary, content = loads((folder / "summary.json").read_text(encoding="utf-8")), read_content(folder)

    assert content.numbers["notes"] == [message.replace("post '1'", f"post '{content.queries['post_id'][1]}'")]
    for name, entry in summary["measures"].items():
        kept = content.numbers["measures"][name]
        assert {**entry, "warnings": None} == {**kept, "warnings": None}
    assert content.manifest == {k: v for k, v in loads((folder / "manifest.json").read_text()).items() if k != "time"}
    assert content.queries["criterion_id"] == ["A.1"] * 7


def test_a_manifest_keeps_folds_that_have_the_name_of_a_post() -> None:
    aliases = Aliases({"1": "p1-ab"}, {})
    manifest = {"seed": 1, "options": {"by": ["1"]}, "thresholds": [{"fold": "1", "tuned_on_posts": ["1"]}]}

    made = hidden_manifest(manifest, Mentions(aliases), aliases)

    assert made == {"seed": 1, "options": {"by": ["1"]}, "thresholds": [{"fold": "1", "tuned_on_posts": ["p1-ab"]}]}


MENTIONS = Mentions(Aliases({"7": "p1", "post-7": "p2", "it's 7%": "p3", "night": "p4"}, {"post-7_1": "p2.1"}), {"A.7"})


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("post '7' and post 7, but 7 posts", "post 'p1' and post p1, but 7 posts"),
        ("the card's 'post-7' isn't 'night'", "the card's 'p2' isn't 'p4'"),
        ("post-7, post-7. (post-7) [post-7] post-7_1; post-77 xpost-7", "p2, p2. (p2) [p2] p2.1; post-77 xpost-7"),
        (
            "AUROC[post_id=7] 0.7 at night, fold '7', column 'post-7'",
            "AUROC[post_id=p1] 0.7 at night, fold '7', column 'post-7'",
        ),
        ("first group: it's 7%, x", "first group: p3, x"),
        ("post-7.csv: 'post-7.csv'", "post-7.csv: 'post-7.csv'"),
        ('uid "post-7_1"', 'uid "p2.1"'),
    ],
)
def test_only_whole_ids_are_replaced(said: str, told: str) -> None:
    assert MENTIONS.hidden(said) == told


def test_the_near_duplicate_check_names_ids_in_quotes() -> None:
    """Every message prints ids by `shown`, so that a page finds them; a long id is not printed at all."""
    source = (Path(evidentia.__file__).parent / "checks/leakage.py").read_text(encoding="utf-8")
    assert "map(shown, copies.groups[0][:3])" in source


# ---- what stands for ids


def test_pseudonyms_sort_as_the_bootstrap_sorts_ids() -> None:
    ids = in_order(["10", "9", "-1"], ["3", "9"])

    assert ids == ["-1", "9", "10", "3"]
    assert [name[:3] for name in pseudonyms(ids, b"k").values()] == ["p1-", "p2-", "p3-", "p4-"]
    assert in_order(["9" * 5000, "1"]) == ["1", "9" * 5000]


def test_sentences_that_two_topics_share_keep_one_name(tmp_path: Path) -> None:
    """In a run without criteria a post is a topic, and topics rank the same documents."""
    rows = {"post_id": ["301", "302"], "criterion_id": "", "gold_sent_uids": ["3011|3022", "3011"]}
    ranked = {"ranked_sent_uids": ["3011|3022", "3022|3011"], "selected_sent_uids": ["3022", "3022"]}
    evidentia.evaluate(pl.DataFrame(rows | ranked), resamples=0).save(tmp_path / "out")

    content = read_content(tmp_path / "out")
    first, second = content.queries["post_id"]

    assert content.queries["ranked_sent_uids"] == ["1|2", f"{first}.2|{first}.1"]
    assert [row["lost"] for row in content.errors["rows"]] == [{"1": "K"}, {f"{first}.1": "ranking"}]
    assert not {"3011", "3022"} & set(_strings(content.to_dict()))
    assert second.startswith("p2-")


def test_numbers_of_sentences_never_hold_a_part_of_an_id(tmp_path: Path) -> None:
    """Sentence 30177 of post 301 is not "77": without a mark between them it may be another id that begins alike."""
    folder = folder_of({"301": ["30177", "30178"], "9": ["9_04", "9_11"]}, tmp_path / "out")

    assert read_content(folder).queries["ranked_sent_uids"] == ["11|4", "2|1"]


# ---- the key


def test_the_key_stays_beside_the_result_for_its_owner_only(tmp_path: Path) -> None:
    folder = folder_of({"alpha": ["s_1", "s_2"]}, tmp_path / "out")
    before = render(read_content(folder))
    old = os.umask(0)
    try:
        path = write_key(folder)
    finally:
        os.umask(old)

    assert path == folder / KEY_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert bytes.fromhex(path.read_text()) == key_of(folder)
    assert render(read_content(folder)) == before
    assert path.read_text().strip() not in before
    assert write_key(folder) == path  # once more changes nothing
    ensure_writable(folder, force=True)  # a key of ours is no stranger


def test_another_key_gives_other_pseudonyms(tmp_path: Path) -> None:
    folder = folder_of({"alpha": ["s_1", "s_2"]}, tmp_path / "out")
    before = read_content(folder).queries["post_id"]
    (folder / KEY_FILE).write_text("ab" * 32 + "\n")

    assert read_content(folder).queries["post_id"] != before


@pytest.mark.parametrize("content", ["xyz", "abcd", "ü" * 64])
def test_a_damaged_key_is_refused_and_not_printed(content: str, tmp_path: Path) -> None:
    folder = folder_of({"alpha": ["s_1", "s_2"]}, tmp_path / "out")
    (folder / KEY_FILE).write_text(content, encoding="utf-8")

    with pytest.raises(InputError, match=r"report\.key: not a key"):
        read_content(folder)
    with pytest.raises(InputError):
        write_key(folder)


def test_a_result_with_a_key_still_verifies(tmp_path: Path) -> None:
    folder = folder_of({f"p{n}": [f"p{n}_1", f"p{n}_2"] for n in range(3)}, tmp_path / "out")
    write_key(folder)

    assert evidentia.verify_result(folder).passed


def _strings(value: object) -> list[str]:
    if isinstance(value, dict):
        return [text for key, one in value.items() for text in (*_strings(key), *_strings(one))]
    if isinstance(value, list | tuple):
        return [text for one in value for text in _strings(one)]
    return [value] if isinstance(value, str) else []
