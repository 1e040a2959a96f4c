"""A measure is added in three places: its definition, its twin in verify/, its hand-worked test. Each lack is named."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

import evidentia.verify
from evidentia.measures import MEASURES
from evidentia.results import catalogue
from evidentia.results.measure import Measure
from evidentia.synth import synthetic_run
from evidentia.verify import questionnaire, ranking, twins
from evidentia.verify.plan import has_twin

DEFINITION = '''
"""R-precision: as deep as there is evidence."""

import numpy as np

from evidentia.measures import register
from evidentia.measures.family import AVERAGE, Family
from evidentia.measures.populations import POPULATION, asked_population

family = Family(
    "ranking",
    population=asked_population,
    requires=("ranking",),
    direction="higher",
    bounds=(0.0, 1.0),
    reasons=("no queries in the population",),
    params=(POPULATION, AVERAGE),
)


@family.mean(
    "OutsidePrecision",
    label="R-precision",
    formula="|gold in the top R| / R, R = |gold|",
    meaning="The share of evidence among as many sentences as there is evidence.",
    reference="Manning, Raghavan, Schuetze, Introduction to Information Retrieval, ch. 8 (2008)",
)
def r_precision(queries, args):
    ranks, gold = queries.gold_ranks, queries.n_gold
    hits = np.bincount(ranks.owner, ranks.values <= gold[ranks.owner], minlength=len(gold))
    return np.divide(hits, gold, out=np.zeros(len(gold)), where=gold > 0)


register(family)
'''
TWIN = """
import numpy as np

from evidentia.verify.twins import TwinFamily, by_choice, register

family = TwinFamily("ranking")


@family.mean("OutsidePrecision", population=by_choice)
def r_precision(study, args):
    top = [sum(rank <= len(query.gold) for rank in query.gold_ranks) for query in study.queries]
    return np.array([hits / len(query.gold) if query.gold else 0.0 for hits, query in zip(top, study.queries)])


register(family)
"""
ONE_REPLICATE = TWIN.replace('@family.mean("OutsidePrecision", population=by_choice)', "").replace(
    "register(family)",
    """
from evidentia.verify.twins import SumTwin


def columns(study, args):
    inside = by_choice(study, args)
    return [np.where(inside, r_precision(study, args), 0.0), inside]


def finish(sums, args):
    return sums[0] / sums[1] if sums[1] > 0 else sums[0] * np.nan


family.add("OutsidePrecision", SumTwin(columns=columns, finish=finish, population=by_choice))
register(family)
""",
)
COMMAND = """
import sys
for place in sys.argv[1].split(","):
    __import__(f"new_measure.{place}")
sys.argv = ["evidentia", *sys.argv[2:]]
from evidentia.cli.main import main
main()
"""
EVALUATE = (
    "--measures",
    "OutsidePrecision,OutsidePrecision(avg=criterion),nDCG@10",
    "--resamples",
    "60",
    "-q",
    "--no-report",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with a new measure, and a run."""
    folder = tmp_path_factory.mktemp("new")
    package = folder / "new_measure"
    package.mkdir()
    for name, text in (("__init__", ""), ("definition", DEFINITION), ("twin", TWIN)):
        (package / f"{name}.py").write_text(text, encoding="utf-8")
    tables = synthetic_run(seed=5, posts=20, criteria=3, positives=15)
    tables.per_query.write_parquet(folder / "run.parquet")
    return folder


def run(home: Path, *command: str, places: str = "definition,twin") -> subprocess.CompletedProcess[str]:
    """A command of Evidentia after the package was imported."""
    return subprocess.run(
        [sys.executable, "-c", COMMAND, places, *command], cwd=home, capture_output=True, text=True, check=False
    )


def test_a_measure_of_a_package_is_evaluated_explained_verified_and_reported(home: Path) -> None:
    assert run(home, "evaluate", "run.parquet", "-o", "out", *EVALUATE).returncode == 0
    summary = json.loads((home / "out" / "summary.json").read_text(encoding="utf-8"))["measures"]
    assert 0 < summary["OutsidePrecision"]["value"] < 1
    assert summary["OutsidePrecision"]["ci"] is not None
    assert "OutsidePrecision[fold=0]" in summary
    explained = run(home, "explain", "OutsidePrecision", "run.parquet")
    assert "|gold in the top R| / R" in explained.stdout
    assert f"= {summary['OutsidePrecision']['value']:.6f}"[:-1] in explained.stdout
    assert run(home, "report", "out").returncode == 0
    assert "OutsidePrecision" in (home / "out" / "report.html").read_text(encoding="utf-8")
    verified = run(home, "verify", "out")
    assert verified.returncode == 0, verified.stdout
    assert "Everything matches" in verified.stdout
    changed = (home / "out" / "summary.json").read_text(encoding="utf-8")
    wrong = changed.replace(f'"value":{summary["OutsidePrecision"]["value"]!r}', '"value":0.5').replace(
        f'"value": {summary["OutsidePrecision"]["value"]!r}', '"value": 0.5'
    )
    assert wrong != changed
    (home / "out" / "summary.json").write_text(wrong, encoding="utf-8")
    assert "summary.json: OutsidePrecision: value" in run(home, "verify", "out", "--json").stdout


def test_a_measure_without_a_twin_is_named_by_verify(home: Path) -> None:
    assert run(home, "evaluate", "run.parquet", "-o", "alone", *EVALUATE, places="definition").returncode == 0
    verified = run(home, "verify", "alone", places="definition")
    assert verified.returncode == 1
    assert verified.stdout.count("OutsidePrecision has no twin") == 1
    assert "nDCG" not in verified.stdout


@pytest.mark.slow
def test_a_measure_without_its_definition_is_named_by_verify(home: Path) -> None:
    assert run(home, "evaluate", "run.parquet", "-o", "unknown", *EVALUATE).returncode == 0
    verified = run(home, "verify", "unknown", places="twin")
    assert verified.returncode == 1
    assert "Unknown measure 'OutsidePrecision'" in verified.stdout


@pytest.mark.sample(every=2)
@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (TWIN.replace("top = [", "top = study.nothing_of_the_kind, ["), "AttributeError"),
        (ONE_REPLICATE, "ValueError"),  # it works on the run as it is
    ],
)
def test_a_twin_that_fails_is_named_with_its_line_and_nothing_else_is(home: Path, wrong: str, error: str) -> None:
    (home / "new_measure" / "broken.py").write_text(wrong)
    assert run(home, "evaluate", "run.parquet", "-o", error, *EVALUATE).returncode == 0
    verified = run(home, "verify", error, "--json", places="definition,broken")
    assert verified.returncode == 1
    (mismatch,) = json.loads(verified.stdout)["mismatches"]
    assert mismatch["where"] == "summary.json: OutsidePrecision"
    assert f"its twin fails with {error} at broken.py:" in mismatch["reported"]


def test_a_name_is_registered_once() -> None:
    with pytest.raises(ValueError, match="MRR is a measure already"):
        catalogue.register([next(measure for measure in MEASURES if measure.base == "MRR")])
    with pytest.raises(ValueError, match="mrr is a measure already"):
        catalogue.register([replace(MEASURES[0], base="mrr")])
    with pytest.raises(ValueError, match="Recall of the family ranking has a twin already"):
        twins.register(ranking.family)


def without_a_twin(measures: Iterable[Measure]) -> list[str]:
    """The measures of queries and of questionnaires that verification cannot compute."""
    others = [measure for measure in measures if measure.family != "selective"]
    answers = {measure.base for measure in others if measure.family == "questionnaire"} & questionnaire.TWINS.keys()
    return [measure.base for measure in others if measure.base not in answers and not has_twin(measure)]


def test_every_registered_measure_has_a_twin() -> None:
    lacking = without_a_twin(MEASURES)
    assert lacking == [], f"no twin of {lacking}: define one in the module of their family in verify/ (CONTRIBUTING.md)"


def test_every_twin_has_a_measure() -> None:
    known = {(measure.family, measure.base) for measure in MEASURES}
    orphans = [key for key in twins.TWINS if key not in known]
    assert orphans == [], f"twins without a measure: {orphans}; define them in the module of their family in measures/"


def test_a_new_measure_without_a_twin_is_reported() -> None:
    assert "Dummy" in without_a_twin((*MEASURES, replace(MEASURES[0], base="Dummy")))


@pytest.mark.parametrize(
    "measure",
    [m for m in MEASURES if m.family not in {"selective", "questionnaire"}],
    ids=lambda m: f"{m.base} {m.cut}",
)
def test_the_bounds_of_a_measure_are_written_twice(measure: Measure) -> None:
    """They choose the scale of an interval, so the twin has its own."""
    low, high = measure.bounds
    stated = twins.BOUNDS.get((measure.family, measure.base), (0.0, 1.0))
    assert stated == (-math.inf if low is None else low, math.inf if high is None else high)


def test_verification_reads_words_of_the_catalogue_and_no_code() -> None:
    """A definition carries what computes it for measures/; no module of verify/ asks for that."""
    asked = []
    for path in sorted(Path(evidentia.verify.__file__).parent.glob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        asked += [f"{path.name}: {name}" for name in names & {"kind_of", "variants", "mask", "bounds"}]
    assert asked == []
