"""The scorers that `evidentia assess run` names, with the options that are theirs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from evidentia.cli.options import option
from evidentia.errors import InputError, typed

if TYPE_CHECKING:
    from evidentia.assessment.answers import Scorer
    from evidentia.assessment.evidence_of_run import EvidenceOfRun
    from evidentia.assessment.instrument import Instrument
    from evidentia.assessment.llm import LlmScorer
    from evidentia.assessment.references import References

Frequency = Annotated[str, option("--frequency", "rules: strict abstains where nothing says how often.")]
Context = Annotated[str, option("--context", "qa: a question is context, never evidence. participant: it is not read.")]
Close = Annotated[
    bool, option("--vectors", "rules: also read what is close to an item by MiniLM (needs the neural extra).")
]
LlmRun = Annotated[Path | None, option("--llm-run RUN.json", "learned: the LLM's run that it reads.")]
Shots = Annotated[int, option("--shots", "llm: how many references stand in a prompt.", min=0)]
ReferenceInterviews = Annotated[
    Path | None,
    option("--references TRANSCRIPTS", "llm: labelled interviews to show as examples."),
]
ReferenceTruth = Annotated[Path | None, option("--references-truth CSV", "llm: the scores of the references.")]
EvidenceOf = Annotated[
    str | None, option("--evidence-of MODE", "llm: take the quotes of this mode of RUN.json, and ask for scores only.")
]
Together = Annotated[bool, option("--together", "llm: score all items in one call.")]
Samples = Annotated[int, option("--samples", "llm: ask again that often, for consistency.", min=0)]
ApiKeyEnv = Annotated[str | None, option("--api-key-env NAME", "llm: the environment variable of its key.")]
Timeout = Annotated[float, option("--timeout", "llm: seconds to wait for an answer.")]
Retries = Annotated[int, option("--retries", "llm: how often a busy server is asked again.", min=0)]
MostTokens = Annotated[int | None, option("--max-tokens-total", "llm: stop asking after so many tokens.", min=1)]


@dataclass(frozen=True)
class ScorerOptions:
    """Everything that a scorer may be told; ``reading`` is how interviews are read."""

    frequency: str = "lenient"
    context: str = "qa"
    vectors: bool = False
    llm_run: Path | None = None
    shots: int = 0
    references: Path | None = None
    references_truth: Path | None = None
    evidence: EvidenceOfRun | None = None
    together: bool = False
    samples: int = 0
    api_key_env: str | None = None
    timeout: float = 120.0
    retries: int = 5
    most_tokens: int | None = None
    reading: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.frequency not in ("lenient", "strict") or self.context not in ("qa", "participant"):
            raise InputError("--frequency is lenient or strict, and --context is qa or participant.")


def named_scorer(name: str, instrument: Instrument, options: ScorerOptions) -> Scorer:
    """The scorer that a name stands for: rules, learned:DIR, or llm:URL,MODEL."""
    kind, _, address = name.partition(":")
    _refuse_options_of_others(kind, options)
    if kind == "rules" and not address:
        return rules_scorer(instrument, options)
    if kind == "learned" and address:
        return learned_scorer(Path(address), instrument, options.llm_run)
    if kind == "llm" and "," in address:
        return llm_scorer(address, instrument, options)
    raise InputError(f"{typed(name)} is no scorer. Scorers are rules, learned:DIR and llm:URL,MODEL.")


def _refuse_options_of_others(kind: str, options: ScorerOptions) -> None:
    asked = {
        "--vectors": ("rules", options.vectors),
        "--llm-run": ("learned", options.llm_run is not None),
        "--shots": ("llm", options.shots > 0),
        "--references": ("llm", options.references is not None),
        "--evidence-of": ("llm", options.evidence is not None),
        "--together": ("llm", options.together),
        "--samples": ("llm", options.samples > 0),
    }
    wrong = [f"{option} is for {owner}" for option, (owner, used) in asked.items() if used and owner != kind]
    if wrong and kind in {"rules", "learned", "llm"}:
        raise InputError(f"The scorer {kind} does not take what was asked: {', '.join(wrong)}.")


def rules_scorer(instrument: Instrument, options: ScorerOptions) -> Scorer:
    """The rules, with MiniLM if it is wanted."""
    from evidentia.assessment.rules import RulesScorer
    from evidentia.assessment.similarity import minilm

    return RulesScorer(
        instrument,
        frequency="strict" if options.frequency == "strict" else "lenient",
        context="qa" if options.context == "qa" else "participant",
        encoder=minilm() if options.vectors else None,
    )


def learned_scorer(folder: Path, instrument: Instrument, llm_run: Path | None) -> Scorer:
    """A model of `assess fit`, for the instrument that it was learnt for."""
    from evidentia.assessment.learned import LearnedScorer
    from evidentia.assessment.model_files import llm_expectations, load_model

    model = load_model(folder)
    if model.instrument.to_dict() != instrument.to_dict():
        raise InputError(f"{folder.name} was learnt for {model.instrument.name}, not for {instrument.name}.")
    return LearnedScorer(model, None if llm_run is None else llm_expectations(llm_run, None, instrument))


def llm_scorer(address: str, instrument: Instrument, options: ScorerOptions) -> LlmScorer:
    """A chat endpoint, with the references that few-shot prompts show."""
    from evidentia.assessment.chat import ChatEndpoint
    from evidentia.assessment.llm import LlmScorer, LlmSettings
    from evidentia.pipeline.encoders.wire import ServerSettings

    url, _, model = address.partition(",")
    server = ServerSettings(api_key_env=options.api_key_env, timeout=options.timeout, retries=options.retries)
    settings = LlmSettings(
        together=options.together,
        shots=options.shots,
        samples=options.samples,
        context="qa" if options.context == "qa" else "participant",
    )
    endpoint = ChatEndpoint(url, model, server, most_tokens=options.most_tokens)
    return LlmScorer(instrument, endpoint, settings, labelled_references(instrument, options), options.evidence)


def labelled_references(instrument: Instrument, options: ScorerOptions) -> References | None:
    """The labelled interviews that few-shot prompts show; they, their scores and the shots come together."""
    wanted = {options.shots > 0, options.references is not None, options.references_truth is not None}
    if len(wanted) > 1:
        raise InputError("Few-shot prompts need --shots, --references and --references-truth together.")
    if options.references is None:
        return None
    from evidentia.assessment.interviews import check_inputs
    from evidentia.assessment.references import References

    read, scores = check_inputs(options.references, instrument, options.references_truth, **options.reading)
    assert scores is not None
    return References(read, scores, instrument)
