"""The tables of a study: success, errors and times by row, and which differences are real."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean
from typing import Any, TypeVar

from kodex.evaluation import Results, Score, compare_pooled, holm, pooled
from kodex.evaluation.comparison import PooledDifference, PooledRate, interval_of_mean
from kodex.reports.page.section import Markup, table
from kodex.reports.study import EXPERT, Line, StudyResults, seed_of
from kodex.reports.study_pictures import seconds_until_best

LEGEND = (
    "Success in % of unseen starts, with its 95 % interval over the episodes of all seeds "
    "together; then how many seeds, and their range. Each seed has demonstrations, a learner and "
    "starts of its own, so the interval is Wilson's, and is about other starts for these draws of "
    "demonstrations; where older seeds share their starts, each start is one cluster (Rao and "
    "Scott's design effect). Learning and acting are seconds of the processor, on one thread; "
    "the least of the seeds is shown (early stopping may favour one). The imitation error is the "
    "mean distance of the executed joints from the expert's, the generated error that of the "
    "joints that a reference generates, which is what the paper measures; of a policy that acts "
    "on every measurement it is that of the next joints that it predicts. Both are under the first "
    "condition."
)
UNCLUSTERED = (
    " Some results here were written before outcomes were stored start by start: where several "
    "seeds were pooled, their intervals treat all episodes as independent and are too narrow."
)
DEFINITIONS = (
    "The same episodes. `paper`: the criterion of the tables above; `gymnasium`: the environment's "
    "own success after the last action; `dapg`: the number of steps at which that holds, made for "
    "episodes of 200 steps where these have 70 or 100."
)
LONGEST_NUMBER = 10_000  # is written out; larger ones are 1e+12
Key = TypeVar("Key")
SURE = 0.05  # a difference with a smaller adjusted p has a mark


@dataclass(frozen=True)
class Table:
    """A heading, and rows of cells below the names of the columns."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    task: str | None = None  # None: over all tasks

    def markdown(self) -> Iterator[str]:
        """Yield the lines of the table in Markdown; names of rows are set as code."""
        yield from ("", f"### {self.heading}", "")
        yield f"| | {' | '.join(self.columns)} |"
        yield f"| --- |{' ---: |' * len(self.columns)}"
        for name, *cells in self.rows:
            yield f"| `{name}` | {' | '.join(cells)} |"

    def markup(self) -> Markup:
        """Return the table for a page."""
        return table(("", *self.columns), self.rows)


def legend(study: StudyResults) -> str:
    """Return what the numbers of the main tables mean."""
    honest = all(
        pooled([each.score for each in results]).clustered
        for rows in study.lines.values()
        for line in rows.values()
        for results in line.results.values()
    )
    return LEGEND if honest else LEGEND + UNCLUSTERED


def against(study: StudyResults) -> str:
    """Return what the numbers of the differences mean."""
    return (
        f"Success minus that of `{study.plan.main}` in points, on the same starts, with its 95 % "
        "interval. †: p < 0.05 by McNemar's exact test (Obuchowski's for clustered pairs), "
        "adjusted by Holm's method for all rows and conditions of the task, and a difference to "
        "the same side in every draw of demonstrations. Only such a one is called better or worse."
    )


def markdown(study: StudyResults) -> str:
    """Return all tables of a study as Markdown."""
    lines = [legend(study)]
    for each in (*main_tables(study), *mean_tables(study)):
        lines += each.markdown()
    differences = against_tables(study)
    if differences:
        lines += ["", f"## Against `{study.plan.main}`", "", against(study)]
    for each in (*differences, *budget_tables(study), *operator_tables(study)):
        lines += each.markdown()
    definitions = definition_tables(study)
    if definitions:
        lines += ["", "## By each definition of success", "", DEFINITIONS]
    for each in definitions:
        lines += each.markdown()
    return "\n".join(lines) + "\n"


def groups(study: StudyResults) -> dict[str, list[str]]:
    """Return the conditions that stand in one table, by its heading: worlds and sensors apart."""
    found: dict[str, list[str]] = {}
    for name, condition in study.plan.conditions.items():
        found.setdefault(_group(condition), []).append(name)
    return found


def _group(condition: Mapping[str, Any]) -> str:
    sensors = condition.get("sensors") or {}
    usual = {"every": 1, "delay": 0, "noise": 0.0, "object_lost": 0.0}
    if any(sensors.get(name, value) != value for name, value in usual.items()):
        return "sensors"
    return "physical variations" if condition.get("variation") else ""


def main_tables(study: StudyResults) -> list[Table]:
    """Return tables per task: success under every condition, errors, and times."""
    tables = []
    for task, lines in study.lines.items():
        for place, (group, conditions) in enumerate(groups(study).items()):
            measured = _measured(lines) if place == 0 else {}
            rows = tuple(
                (
                    name,
                    *(_success(line.results.get(each, [])) for each in conditions),
                    *(column[name] for column in measured.values()),
                )
                for name, line in lines.items()
            )
            heading = _titled(task.capitalize(), group if place else "")
            tables.append(Table(heading, (*conditions, *measured), rows, task))
    return tables


def mean_tables(study: StudyResults) -> list[Table]:
    """Return the tables of means over the tasks, if there are several."""
    if len(study.lines) < 2:
        return []
    tables = []
    for place, (group, conditions) in enumerate(groups(study).items()):
        rows = []
        for row in study.plan.rows:
            cells = [_mean_success(study, row, condition) for condition in conditions]
            overall = [_overall_success(study, row, conditions)] if len(conditions) > 1 else []
            rows.append((row, *cells, *overall))
        heading = _titled("Mean over the tasks", group if place else "")
        columns = (*conditions, "mean") if len(conditions) > 1 else tuple(conditions)
        tables.append(Table(heading, columns, tuple(rows)))
    return tables


def _mean_success(study: StudyResults, row: str, condition: str) -> str:
    """Return the mean over the tasks and its interval; nothing if a task is not known."""
    middle = study.mean_rate(row, condition)
    if middle is None:
        return ""
    found = [pooled(_scores(lines[row].results[condition])) for lines in study.lines.values()]
    low, high = interval_of_mean(found)
    return f"{middle:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _overall_success(study: StudyResults, row: str, conditions: Sequence[str]) -> str:
    """Return the mean over tasks and conditions, and its interval where one can be told."""
    means = [study.mean_rate(row, condition) for condition in conditions]
    known = [value for value in means if value is not None]
    if len(known) < len(means):
        return ""
    found = [
        _independent(study, [line.results[each] for each in conditions], conditions)
        for line in (lines[row] for lines in study.lines.values())
    ]
    rates = [rate for each in found for rate in each]
    if not all(found):
        return f"{mean(known):.1f}"
    low, high = interval_of_mean(rates)
    return f"{mean(known):.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _independent(
    study: StudyResults, results: Sequence[Sequence[Results]], conditions: Sequence[str]
) -> list[PooledRate]:
    """Return rates of which the mean is that of the conditions of a task; none if not known.

    Conditions on the same starts are not independent: each start is one cluster of them all.
    """
    rates = [pooled(_scores(each)) for each in results]
    told = [study.plan.conditions[each] for each in conditions]
    if len({(each["distribution"], each["seed"]) for each in told}) == len(told):
        return rates
    together = pooled([score for each in results for score in _scores(each)])
    alike = len({each.instances for each in rates}) == 1
    return [together] if together.clustered and alike else []


def against_tables(study: StudyResults) -> list[Table]:
    """Return tables per task: each row's difference to the main one, where both are known."""
    tables = []
    for task, lines in study.lines.items():
        differences = _differences(study, lines)
        for place, (group, conditions) in enumerate(groups(study).items()):
            rows = tuple(
                (row, *(differences.get((row, each), "") for each in conditions))
                for row in study.plan.rows
                if any((row, each) in differences for each in conditions)
            )
            if rows:
                title = f"{task.capitalize()}, against {study.plan.main}"
                heading = _titled(title, group if place else "")
                tables.append(Table(heading, tuple(conditions), rows, task))
    return tables


def budget_tables(study: StudyResults) -> list[Table]:
    """Return how long methods need to be as good as they get, if they had several budgets."""
    rows = seconds_until_best(study)
    heading = "Seconds to learn until success is within one point of the method's best"
    return [Table(heading, tuple(study.lines), rows)] if rows else []


def definition_tables(study: StudyResults) -> list[Table]:
    """Return success under the first condition by every definition that is known, per task."""
    condition = study.conditions[0] if study.conditions else ""
    tables = []
    for task, lines in study.lines.items():
        found = {row: line.results.get(condition, []) for row, line in lines.items()}
        names = sorted({name for results in found.values() for name in _definitions(results)})
        if len(names) > 1:
            rows = tuple(
                (row, *(_rate_by(results, name) for name in names))
                for row, results in found.items()
                if results
            )
            heading = f"{task.capitalize()}: {condition}, by each definition of success"
            tables.append(Table(heading, tuple(names), rows, task))
    return tables


def _definitions(results: Sequence[Results]) -> set[str]:
    """Return the definitions of success that all `results` were scored by."""
    return set.intersection(*(set(each.definitions) for each in results)) if results else set()


def _rate_by(results: Sequence[Results], definition: str) -> str:
    if definition not in _definitions(results):
        return ""
    return str(pooled(_scores(results), definition))


def operator_tables(study: StudyResults) -> list[Table]:
    """Return the table of the rows' operators, if the study analysed some."""
    rows = []
    for row in study.plan.rows:
        operators = [lines[row].operator for lines in study.lines.values()]
        if any(each is not None for each in operators):
            cells = [
                "" if each is None else f"{each.observables}; {each.spectrum.radius:.5f}"
                for each in operators
            ]
            rows.append((row, *cells))
    heading = "Operators: observables, and the largest magnitude of an eigenvalue"
    return [Table(heading, tuple(study.lines), tuple(rows))] if rows else []


def _titled(title: str, group: str) -> str:
    return f"{title}: {group}" if group else title


def _measured(lines: Mapping[str, Line]) -> dict[str, dict[str, str]]:
    """Return the columns of errors and times, {column: {row: number}}; those that are known."""

    def error(name: str, mean_name: str) -> str:
        return _number(None if name == EXPERT else lines[name].mean_of(mean_name), 3)

    columns = {
        "imitation error": {name: error(name, "imitation_error") for name in lines},
        "generated error": {name: error(name, "generated_error") for name in lines},
        "thrown out, %": {name: _thrown_out(line.first) for name, line in lines.items()},
        "learn, s": {name: _number(line.least_seconds("learn"), 1) for name, line in lines.items()},
        "action, µs": {name: _action(line) for name, line in lines.items()},
    }
    return {
        name: column
        for name, column in columns.items()
        if any(column.values()) or name in ("imitation error", "learn, s", "action, µs")
    }


def _action(line: Line) -> str:
    """Return the median time of an action, and the range that holds nine of ten."""
    names = ("action", "action, 5 %", "action, 95 %")
    middle, *ends = (line.least_seconds(name) for name in names)
    if middle is None:
        return ""
    low, high = (None if end is None else f"{1e6 * end:.0f}" for end in ends)
    return f"{1e6 * middle:.0f}" + (f" [{low}, {high}]" if low and high else "")


def _thrown_out(results: Sequence[Results]) -> str:
    scores = [each.score for each in results]
    if not scores or not all("thrown_out" in each.rates for each in scores):
        return ""
    return f"{100 * pooled(scores, 'thrown_out').rate:.1f}"


def _differences(study: StudyResults, lines: Mapping[str, Line]) -> dict[tuple[str, str], str]:
    """Return what is said of each row and condition that can be paired with the main row's."""
    found: dict[tuple[str, str], PooledDifference] = {}
    main = lines[study.plan.main].results if study.plan.main in lines else {}
    for row, line in lines.items():
        for condition, results in line.results.items():
            if row != study.plan.main and condition in main:
                difference = compare_pooled(*_common(results, main[condition]))
                if difference is not None:
                    found[row, condition] = difference
    return in_points(found)


def in_points(found: Mapping[Key, PooledDifference]) -> dict[Key, str]:
    """Return what a table says of differences that are tested together, † where one is sure."""
    adjusted = holm([each.p_value for each in found.values()])
    return {
        key: _difference(each, sure=p_value < SURE and each.agreed)
        for (key, each), p_value in zip(found.items(), adjusted, strict=True)
    }


def _common(first: Sequence[Results], second: Sequence[Results]) -> tuple[list[Score], list[Score]]:
    """Return the scores of both rows, of the seeds that both have if some are one row's alone."""
    seeds = {seed_of(each) for each in first} & {seed_of(each) for each in second}
    if not seeds:
        return _scores(first), _scores(second)
    return _scores(first, seeds), _scores(second, seeds)


def _difference(found: PooledDifference, *, sure: bool) -> str:
    middle = f"{100 * found.difference:+.1f}" + ("†" if sure else "")
    return f"{middle} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"


def _scores(results: Sequence[Results], seeds: Collection[int] | None = None) -> list[Score]:
    return [each.score for each in results if seeds is None or seed_of(each) in seeds]


def _success(results: Sequence[Results]) -> str:
    if not results:
        return ""
    text = str(pooled(_scores(results)))
    rates = [100 * each.success.rate for each in results]
    return text if len(rates) == 1 else f"{text}; {len(rates)}: {min(rates):.1f}–{max(rates):.1f}"


def _number(value: float | None, digits: int) -> str:
    if value is None:
        return ""
    # A prediction that runs away has an error of any size.
    return f"{value:.{digits}f}" if abs(value) < LONGEST_NUMBER else f"{value:.0e}"
