"""What a stack works for: the innermost method of it that belongs to one of these decides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from benchmarks.profile.recording import Stack

OTHER = "other"
_REST = "Spark, the rest"
_LAYERS: Mapping[str, tuple[str, ...]] = {
    "rows: the query's generated code": ("org.apache.spark.sql.catalyst.expressions.GeneratedClass",),
    "rows: JSON": ("org.apache.spark.sql.catalyst.json.", "penstock.json."),
    "rows: Parquet": ("org.apache.parquet.", "org.apache.spark.sql.execution.datasources.parquet."),
    "state store": ("org.apache.spark.sql.execution.streaming.state.", "org.rocksdb."),
    "code generation": (
        "org.codehaus.",
        "org.apache.spark.sql.catalyst.expressions.codegen.",
        "org.apache.spark.sql.execution.WholeStageCodegenExec",
    ),
    "class loading": (
        "java.lang.ClassLoader.",
        "jdk.internal.loader.",
        "java.lang.invoke.",
        "java.util.zip.",
        "java.util.jar.",
    ),
    "Delta": ("org.apache.spark.sql.delta.", "io.delta.", "penstock.delta."),
    "checkpoint files": ("org.apache.spark.sql.execution.streaming.checkpointing.",),
    "planning": (
        *(f"org.apache.spark.sql.catalyst.{part}." for part in ("analysis", "optimizer", "parser", "planning")),
        *(f"org.apache.spark.sql.catalyst.{part}." for part in ("plans", "rules", "trees", "types")),
        "org.apache.spark.sql.execution.QueryExecution",
    ),
    "tasks and jobs": (
        "org.apache.spark.scheduler.",
        "org.apache.spark.executor.",
        "org.apache.spark.rpc.",
        "org.apache.spark.storage.",
        "org.apache.spark.shuffle.",
        "org.apache.spark.broadcast.",
        "org.apache.spark.serializer.",
        "org.apache.spark.util.ClosureCleaner",
    ),
    "listeners and metrics": (
        "org.apache.spark.status.",
        "org.apache.spark.sql.execution.ui.",
        "org.apache.spark.metrics.",
    ),
    "files (Hadoop)": ("org.apache.hadoop.", "penstock.files."),
    "calls from Python": ("py4j.",),
    _REST: ("org.apache.spark.",),
}
_EITHER = "org.apache.spark.sql.catalyst."  # expressions, dates, strings: for rows and for plans
_FIRST = {letters: layer for layer, starts in _LAYERS.items() for letters in starts}


def layer_of(stack: Stack) -> str:
    """Returns the layer of a stack, `OTHER` for none; a kind of thread that runs no Java methods is its own layer."""
    if len(stack) == 1 and "." not in stack[0]:
        return stack[0]
    for method in reversed(stack):
        layer = next((layer for letters, layer in _FIRST.items() if method.startswith(letters)), None)
        if layer is not None and not (layer == _REST and method.startswith(_EITHER)):
            return layer
    return OTHER


def by_layer(stacks: Counter[Stack]) -> Counter[str]:
    """Returns the number of samples of each layer."""
    layers: Counter[str] = Counter()
    for stack, count in stacks.items():
        layers[layer_of(stack)] += count
    return layers
