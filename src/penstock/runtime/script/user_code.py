"""The script's file: read, run as `__main__`, and what it raises reported with its line."""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.declare.code.user_errors import user_error
from penstock.errors import ConfigError, DefinitionError, PenstockError
from penstock.spark.failures.translate import translate_analysis

_SESSION = "spark"


@dataclass(frozen=True, slots=True)
class UserCode:
    """A script that Python can read.

    With `wants_session` it uses the name `spark` and never gives it a value, as a notebook does.
    """

    path: Path
    code: CodeType
    wants_session: bool

    @classmethod
    def read(cls, path: Path) -> UserCode:
        """Reads the file `path`, which is absolute.

        Raises:
            ConfigError: SCRIPT_NOT_READABLE.
            DefinitionError: SYNTAX_ERROR_IN_PIPELINE_FILE.
        """
        try:
            tree = ast.parse(path.read_bytes(), str(path))
            return cls(path, compile(tree, str(path), "exec", dont_inherit=True), _SESSION in _given_from_outside(tree))
        except OSError as error:
            raise ConfigError("SCRIPT_NOT_READABLE", path=path, reason=error.strerror or error) from None
        except (SyntaxError, ValueError) as error:
            raise user_error(error, path, path.parent) from None

    def run(self, arguments: Sequence[str], spark: SparkSession | None) -> None:
        """Runs the script in this thread, as `python path arguments…` would.

        Raises:
            BaseException: whatever it raises; SystemExit too.
        """
        with self._as_main(arguments) as module:
            if spark is not None:
                module.__dict__[_SESSION] = spark
            exec(self.code, module.__dict__)  # noqa: S102 - that is what the user has asked for

    @contextmanager
    def _as_main(self, arguments: Sequence[str]) -> Iterator[ModuleType]:
        """Functions of `__main__` are pickled by value, so Python workers need not find the file."""
        module = ModuleType("__main__")
        module.__dict__.update(__file__=str(self.path), __builtins__=builtins)
        before, path, argv = sys.modules["__main__"], list(sys.path), sys.argv
        sys.modules["__main__"] = module
        sys.path.insert(0, str(self.path.parent))
        sys.argv = [str(self.path), *arguments]
        try:
            yield module
        finally:
            sys.modules["__main__"], sys.path[:], sys.argv = before, path, argv


def script_error(failure: BaseException, path: Path) -> PenstockError:
    """Returns what an exception that left the script means, at its line."""
    if isinstance(failure, ModuleNotFoundError) and failure.name == "dlt":
        error = user_error(failure, path, path.parent)
        return DefinitionError("SCRIPT_IS_PIPELINE", location=error.location, path=path.name)
    return user_error(failure, path, path.parent, _of_spark, otherwise="SCRIPT_FAILED")


def _of_spark(failure: BaseException) -> PenstockError | None:
    if not isinstance(failure, (PySparkException, Py4JError, ConnectionError)):
        return None
    return translate_analysis(failure, known=(), location=None, dataset=None, otherwise="SCRIPT_FAILED")


def _given_from_outside(tree: ast.AST) -> set[str]:
    """The names that the code reads and nowhere binds."""
    read, bound = set(), set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.alias(name=name, asname=other):
                bound.add(other or name.partition(".")[0])
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case _:
                pass
    return read - bound
