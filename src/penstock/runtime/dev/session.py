"""A warm session on a project: what was edited is analysed again, and computed on samples; no table is written."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from penstock.analysis import Resolver
from penstock.config import PipelineConfig
from penstock.errors import ConfigError, PenstockError, SeveralErrors
from penstock.graph.identifier import Identifier
from penstock.runtime.dev.computation import Computation
from penstock.runtime.dev.pipeline_state import PipelineState, declaration_keys
from penstock.runtime.dev.results import DatasetOutcome, EditOutcome, SampleResult, compare_results
from penstock.runtime.dev.samples import Samples
from penstock.runtime.project.workspace import Progress, Workspace
from penstock.spark.session.session import release_forgotten_objects
from penstock.storage import StorageLayout


@dataclass(slots=True)
class DevSession:
    """Computes what an edit has changed.

    `load` reads the pipeline file; `workspace` holds the Spark session. `check` is called with the tables of the
    pipeline before a row is read, and raises unless the user may see them. `rows` is the most that a sample has.
    """

    workspace: Workspace
    load: Callable[[], PipelineConfig]
    check: Callable[[Iterable[Identifier]], None] = lambda _: None
    rows: int = 1000
    _state: PipelineState | None = None
    _samples: Samples = field(init=False)
    _settings: Mapping[str, object] = field(init=False)

    def __post_init__(self) -> None:
        self._samples = Samples(self.rows)
        self._settings = _settings_of(self.workspace.config)
        release_forgotten_objects(self.workspace.spark)

    def refresh(self, progress: Progress) -> EditOutcome:
        """Loads the project anew, validates it, and computes the datasets whose definition has changed.

        After an error the next call compares with the last valid pipeline.

        Raises:
            StateError: what `check` refuses.
            ExternalError: JVM_DIED.
        """
        started = time.monotonic()
        try:
            before, state = self._state, self._analyse(progress)
        except PenstockError as error:
            if error.condition == "JVM_DIED":
                raise
            errors = error.errors if isinstance(error, SeveralErrors) else (error,)
            return EditOutcome(errors=tuple(errors), seconds=time.monotonic() - started)
        validated = time.monotonic() - started
        self.check(state.graph.tables)
        order, removed = state.graph.order, tuple[Identifier, ...]()
        if before is None:
            changed = list(order)
        else:
            unchanged = before.unchanged(state.keys, state.graph.upstream)
            changed = [each for each in order if each not in unchanged or each in before.failed]
            removed = tuple(each for each in before.graph.order if each not in order)
            state = replace(state, edited=before.edited.union(changed))
            before = replace(before, results=dict(before.results), edited=state.edited)
        outcomes = tuple(self._outcomes(before, state, changed))
        failed = frozenset(each.dataset for each in outcomes if each.error is not None)
        self._state = replace(state, failed=failed)
        if not failed:  # what cannot be computed now shall find its sample when it is mended
            self._samples.release(but={key for each in state.results.values() for key in each.samples})
        return EditOutcome(
            outcomes,
            removed,
            warnings=(*self._other_settings(), *state.graph.warnings),
            count=len(order),
            validated=validated,
            seconds=time.monotonic() - started,
        )

    def close(self) -> None:
        """Frees what Spark holds for the session."""
        self._samples.release()

    def _other_settings(self) -> Iterator[PenstockError]:
        config = self.workspace.config
        if changed := sorted({name for name, _ in _settings_of(config).items() ^ self._settings.items()}):
            yield ConfigError("DEV_SETTINGS_CHANGED", location=config.file, settings=", ".join(changed))

    def _analyse(self, progress: Progress) -> PipelineState:
        config = self.load()
        self.workspace = replace(self.workspace, config=config, layout=StorageLayout(config.storage))
        before, taken = self._state, list[Resolver]()
        keys: dict[Identifier, str | None] = {}

        def prepare(resolver: Resolver) -> None:
            taken.append(resolver)
            keys.update(declaration_keys(resolver.graph, config))
            if before is not None:
                resolver.take_over(before.resolver, before.unchanged(keys, before.graph.upstream))

        graph = self.workspace.resolve(progress, prepare=prepare)
        known = {} if before is None else before.results
        return PipelineState(taken[0], graph, keys, {each: known[each] for each in graph.order if each in known})

    def _outcomes(
        self, before: PipelineState | None, state: PipelineState, changed: Iterable[Identifier]
    ) -> Iterator[DatasetOutcome]:
        computation = Computation(self.workspace, self._samples, lambda table: self.check((table,)))
        broken: set[Identifier] = set()
        for identifier in changed:
            if any(upstream in broken for upstream in state.graph.upstream(identifier)):
                broken.add(identifier)
                state.results.pop(identifier, None)
                continue
            try:
                result = computation.result(state, identifier)
            except PenstockError as error:
                error.redact(self.workspace.config.redact)
                broken.add(identifier)
                yield DatasetOutcome(identifier, error=error)
                continue
            known = None if before is None else _result_before(computation, before, identifier)
            state.results[identifier] = result
            yield DatasetOutcome(identifier, result, None if known is None else compare_results(known, result))


def _settings_of(config: PipelineConfig) -> dict[str, object]:
    """Returns the settings that count when Spark is started."""
    return {"master": config.master, **config.spark_conf}


def _result_before(computation: Computation, before: PipelineState, identifier: Identifier) -> SampleResult | None:
    """Returns the result before an edit, computed again if it was of the stored rows of what is edited now."""
    known = before.results.get(identifier)
    if known is not None and known.stored & before.edited:
        with suppress(PenstockError):
            before.results[identifier] = computation.result(before, identifier)
    return before.results.get(identifier)
