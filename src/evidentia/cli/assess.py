"""`evidentia assess`: interviews and texts in, item scores that may abstain out, with their evidence."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evidentia.cli.options import Quiet, argument, exit_unless, option
from evidentia.cli.progress import progress_bar
from evidentia.cli.scorers import (
    ApiKeyEnv,
    Close,
    Context,
    EvidenceOf,
    Frequency,
    LlmRun,
    MostTokens,
    ReferenceInterviews,
    ReferenceTruth,
    Retries,
    Samples,
    ScorerOptions,
    Shots,
    Timeout,
    Together,
    named_scorer,
)
from evidentia.errors import InputError, OutputError, counted

if TYPE_CHECKING:
    from evidentia.assessment.answers import Scorer
    from evidentia.assessment.interviews import Interview

app = typer.Typer(
    help="Interviews and texts to questionnaire items, scored or abstained, with evidence.",
    no_args_is_help=True,
    rich_markup_mode="rich",
)
NOTICE = "Research software, not a medical device: scores are about texts, never a diagnosis."

Interviews = Annotated[
    Path,
    argument(
        "A folder of transcripts (.tsv, .txt, .jsonl), or a table with participant_id and text.", metavar="TRANSCRIPTS"
    ),
]
InstrumentName = Annotated[str, option("--instrument NAME", "phq8, gad7, or a TOML file of your own.")]
TruthFile = Annotated[Path | None, option("--truth CSV", "participant_id and one column per item.")]
Speaker = Annotated[str | None, option("--speaker MARK", "How the participant's turns are marked, if unusually.")]
TextColumn = Annotated[str, option("--text-column", "The column of the text in a table.")]


@app.command()
def check(
    interviews: Interviews,
    instrument: InstrumentName = "phq8",
    truth: TruthFile = None,
    speaker: Speaker = None,
    text_column: TextColumn = "text",
) -> None:
    """Read interviews, instrument and truth, and list every problem at once; nothing is written."""
    from evidentia.assessment.instrument import load_instrument
    from evidentia.assessment.interviews import check_inputs

    chosen = load_instrument(instrument)
    read, scores = check_inputs(interviews, chosen, truth, speaker=speaker, text=text_column)
    turns = sum(turn.is_participant for interview in read for turn in interview.turns)
    print(
        f"{counted(len(read), 'participant')}, {counted(turns, 'turn')} of theirs; {counted(len(chosen.items), 'item')}."
    )
    if scores is not None:
        print(f"The truth has {counted(len(scores), 'participant')}.")
    print("No problems found.")


@app.command()
def run(
    interviews: Interviews,
    out: Annotated[Path, option("-o --out RUN.json", "The run file; a further mode is added to it.")],
    scorer: Annotated[str, option("--scorer SCORER", "rules, learned:DIR, or llm:URL,MODEL.")] = "rules",
    instrument: InstrumentName = "phq8",
    truth: TruthFile = None,
    mode: Annotated[str | None, option("--mode NAME", "The name of this run in the file.")] = None,
    frequency: Frequency = "lenient",
    context: Context = "qa",
    vectors: Close = False,
    llm_run: LlmRun = None,
    shots: Shots = 0,
    references: ReferenceInterviews = None,
    references_truth: ReferenceTruth = None,
    evidence_of: EvidenceOf = None,
    together: Together = False,
    samples: Samples = 0,
    api_key_env: ApiKeyEnv = None,
    timeout: Timeout = 120.0,
    retries: Retries = 5,
    jobs: Annotated[int, option("--jobs", "llm: participants at once.", min=1, max=64)] = 1,
    max_tokens_total: MostTokens = None,
    dry_run: Annotated[bool, option("--dry-run", "llm: print an estimate of calls and tokens, and stop.")] = False,
    quotes: Annotated[Path | None, option("--quotes FILE.jsonl", "Also write the quoted words themselves.")] = None,
    resume: Annotated[bool, option("--resume", "Go on after a crash: nobody is asked twice.")] = False,
    force: Annotated[bool, option("--force", "Replace a run of the same mode.")] = False,
    speaker: Speaker = None,
    text_column: TextColumn = "text",
    quiet: Quiet = False,
) -> None:
    """Assess every interview: items scored or abstained, with evidence and signals, for `evidentia selective`.

    Research software, not a medical device: scores are about texts, never a diagnosis.
    """
    from evidentia.assessment.evidence_of_run import EvidenceOfRun
    from evidentia.assessment.instrument import load_instrument
    from evidentia.assessment.interviews import check_inputs
    from evidentia.assessment.run import quote_rows, run_file

    if quotes is not None and quotes.exists() and not force:
        raise OutputError(f"{quotes.name} exists. Choose another file with --quotes, or replace it with --force.")
    chosen, reading = load_instrument(instrument), {"speaker": speaker, "text": text_column}
    read, scores = check_inputs(interviews, chosen, truth, speaker=speaker, text=text_column)
    options = ScorerOptions(
        frequency=frequency,
        context=context,
        vectors=vectors,
        llm_run=llm_run,
        shots=shots,
        references=references,
        references_truth=references_truth,
        evidence=None if evidence_of is None else EvidenceOfRun.read(out, evidence_of),
        together=together,
        samples=samples,
        api_key_env=api_key_env,
        timeout=timeout,
        retries=retries,
        most_tokens=max_tokens_total,
        reading=reading,
    )
    assessor, mode = named_scorer(scorer, chosen, options), mode or scorer.partition(":")[0]
    if dry_run and _print_estimate(assessor, read):
        return
    with progress_bar("participants", quiet=quiet) as bar:
        document = run_file(
            read, chosen, assessor, out, mode=mode, truth=scores, resume=resume, force=force, jobs=jobs, progress=bar
        )
    if quotes is not None:
        _write_quotes(quotes, quote_rows(document, mode, read))
    if not quiet:
        _print_outcome(document, mode, out)


def _print_estimate(scorer: Scorer, interviews: Sequence[Interview]) -> bool:
    """Print what a run would cost; False where the scorer sends nothing."""
    from evidentia.assessment.llm import LlmScorer

    if not isinstance(scorer, LlmScorer):
        return False
    estimate = scorer.estimate(interviews)
    print(f"about {estimate['calls']:,} calls and {estimate['prompt_tokens']:,} tokens of prompts; nothing was sent")
    return True


def _write_quotes(path: Path, rows: list[dict[str, Any]]) -> None:
    from evidentia.results.folder import replace_file

    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    try:
        replace_file(path, text.encode())
        path.chmod(0o600)
    except OSError as error:
        raise OutputError(f"Writing {path.name} failed: {error.strerror}.") from None


def _print_outcome(document: dict[str, Any], mode: str, out: Path) -> None:
    results = next(e["results"]["results"] for e in document["experiments"] if e["results"]["mode"] == mode)
    answered = [score for r in results if r["success"] for score in r["predicted_items"].values()]
    failures = Counter(r["error"].partition(":")[0] for r in results if not r["success"])
    print(
        f"{counted(len(results), 'participant')}, {sum(failures.values()):,} failed; "
        f"{sum(score is not None for score in answered):,} of {counted(len(answered), 'item')} scored, the others "
        f"abstained: {out.name}"
    )
    for category, count in failures.most_common():
        print(f"failed: {count:,} x {category}", file=sys.stderr)
    print(NOTICE)


@app.command()
def fit(
    interviews: Interviews,
    truth: Annotated[Path, option("--truth CSV", "participant_id and one column per item.")],
    out: Annotated[Path, option("-o --out DIR", "Folder for the model and its out-of-fold run.")],
    instrument: InstrumentName = "phq8",
    folds: Annotated[int, option("--folds", "Folds of the out-of-fold run.", min=2)] = 5,
    coverage: Annotated[float, option("--coverage", "The share of items to answer.")] = 0.8,
    vectors: Annotated[bool, option("--vectors", "Also read MiniLM vectors (needs the neural extra).")] = False,
    llm_run: Annotated[
        Path | None,
        option("--llm-run RUN.json", "A run of an LLM whose expectations are a feature."),
    ] = None,
    seed: Annotated[int, option("--seed", "Same seed, same model.", min=0)] = 7,
    force: Annotated[bool, option("--force", "Replace a model in DIR.")] = False,
    speaker: Speaker = None,
    text_column: TextColumn = "text",
    quiet: Quiet = False,
) -> None:
    """Learn a scorer from labelled participants, and judge it out of fold: DIR/out-of-fold.json is for `evidentia selective`.

    Vocabulary, regressions, and the loss from which to abstain are learnt anew within every fold.
    """
    from evidentia.assessment.instrument import load_instrument
    from evidentia.assessment.interviews import check_inputs
    from evidentia.assessment.learned import LearnedScorer, LearnedSettings, cross_validated, fit_learned
    from evidentia.assessment.model_files import DOCUMENT, llm_expectations, save_model
    from evidentia.assessment.run import FixedAnswers, run_file

    if out.exists() and any(out.iterdir()) and not (force and (out / DOCUMENT).exists()):
        raise OutputError(f"{out.name} exists. Choose another folder with -o, or replace a model with --force.")
    chosen = load_instrument(instrument)
    settings = LearnedSettings(coverage=coverage, seed=seed, vectors=vectors)
    read, scores = check_inputs(interviews, chosen, truth, speaker=speaker, text=text_column)
    assert scores is not None
    llm = None if llm_run is None else llm_expectations(llm_run, None, chosen)
    with progress_bar("folds", quiet=quiet) as progress:
        answers = cross_validated(read, scores, chosen, settings, folds=folds, llm=llm, progress=progress)
    model = fit_learned(read, scores, chosen, settings, llm=llm)
    save_model(model, out)
    scorer = FixedAnswers(answers, {**LearnedScorer(model, llm).provenance(), "out_of_fold": folds})
    run_file(read, chosen, scorer, out / "out-of-fold.json", mode="learned", truth=scores, force=True)
    if not quiet:
        print(f"{counted(len(read), 'participant')}; model and out-of-fold run: {out.name}")
        print(NOTICE)


@app.command()
def leakcheck(
    interviews: Interviews,
    truth: Annotated[Path, option("--truth CSV", "participant_id and one column per item.")],
    instrument: InstrumentName = "phq8",
    participants: Annotated[
        int, option("--participants N", "Participants to take, at most; drawn by the seed.", min=1)
    ] = 300,
    coverage: Annotated[float, option("--coverage", "The share of items to answer.")] = 0.8,
    vectors: Annotated[bool, option("--vectors", "Also read MiniLM vectors (needs the neural extra).")] = False,
    seed: Annotated[int, option("--seed", "Draws participants and permutations.", min=0)] = 7,
    as_json: Annotated[bool, option("--json", "Print only the findings, as JSON.")] = False,
    speaker: Speaker = None,
    text_column: TextColumn = "text",
    quiet: Quiet = False,
) -> None:
    """Change labels and words that a fold of `assess fit` may not see, learn it as `fit` does, and say what moved.

    Exit codes: 0 nothing found, 1 a canary failed, 2 bad input. Nothing is written.
    """
    from evidentia.assessment.instrument import load_instrument
    from evidentia.assessment.interviews import check_inputs
    from evidentia.assessment.learned import LearnedSettings
    from evidentia.leakcheck.learned import leakcheck_learned
    from evidentia.report.gate import print_findings

    chosen = load_instrument(instrument)
    settings = LearnedSettings(coverage=coverage, seed=seed, vectors=vectors)
    read, scores = check_inputs(interviews, chosen, truth, speaker=speaker, text=text_column)
    assert scores is not None
    with progress_bar("canaries", quiet=quiet or as_json) as progress:
        result = leakcheck_learned(read, scores, chosen, settings, participants=participants, progress=progress)
    if as_json:
        sys.stdout.write(result.to_json())
    elif not quiet:
        print(f"{counted(result.posts, 'participant')}, {result.asked} of them EVAL, seed {result.seed}")
        print_findings(result.findings)
    exit_unless(result.passed)


@app.command()
def synth(
    out: Annotated[Path, option("-o --out FOLDER", "Folder for transcripts/ and truth.csv.")],
    participants: Annotated[int, option("--participants", "How many.", min=1)] = 200,
    bank: Annotated[str, option("--bank", "Which of two disjoint banks of phrases: a or b.")] = "a",
    seed: Annotated[int, option("--seed", "Same seed, same words.", min=0)] = 7,
    disagree: Annotated[float, option("--disagree", "Rate at which speech is a score off.", min=0, max=1)] = 0.12,
    force: Annotated[bool, option("--force", "Replace files of the same names.")] = False,
) -> None:
    """Invent PHQ-8 interviews with known item scores; nobody said any of it."""
    from evidentia.assessment.synth import SpeechRates, synthetic_interviews, write_interviews

    if bank not in ("a", "b"):
        raise InputError("The bank of phrases is a or b.")
    drawn = synthetic_interviews(
        participants, seed=seed, bank="a" if bank == "a" else "b", rates=SpeechRates(disagree=disagree)
    )
    write_interviews(drawn, out, force=force)
    print(f"{counted(participants, 'invented interview')}: {out.name}/transcripts and {out.name}/truth.csv")


@app.command()
def explain(
    run_file: Annotated[Path, argument("The run file.", metavar="RUN.json")],
    participant: Annotated[str, argument("Whose.")],
    item: Annotated[str, argument("Which item.")],
    mode: Annotated[str | None, option("--mode", "Which run of the file.")] = None,
    texts: Annotated[Path | None, option("--texts TRANSCRIPTS", "Also show the words, from these interviews.")] = None,
    speaker: Speaker = None,
    text_column: TextColumn = "text",
) -> None:
    """Say what spoke for a score: its reason, signals, and quotes by turn and character."""
    from evidentia.assessment.explain import explain_item
    from evidentia.assessment.interviews import read_interviews

    interviews = () if texts is None else read_interviews(texts, speaker=speaker, text=text_column)
    for line in explain_item(run_file, participant, item, mode=mode, interviews=interviews):
        print(line)


@app.command()
def risk(interviews: Interviews, speaker: Speaker = None, text_column: TextColumn = "text") -> None:
    """Say where texts contain language about self-harm: places only, never the words.

    The PHQ-8 does not ask about self-harm. That nothing is found does not mean that there is no risk.
    """
    from evidentia.assessment.explain import risk_places
    from evidentia.assessment.interviews import read_interviews

    places = list(risk_places(read_interviews(interviews, speaker=speaker, text=text_column)))
    for place in places:
        print(place)
    print(f"{counted(len(places), 'place')} with language about self-harm.")
    print("The PHQ-8 does not ask about self-harm. That nothing is found does not mean that there is no risk.")
