"""Whether a function of the user's is the same after its file was loaded again: its code and all that it refers to."""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import sys
from collections.abc import Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from penstock.declare.code.pickling import PipelineModule
from penstock.graph.sql_query import SqlQuery

_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(Ellipsis))
_OF_THE_ENGINE = ("SparkSession", "DBUtils")


class _UnknownValueError(Exception):
    """The function refers to a value whose content cannot be compared."""


def function_key(*values: Any) -> str | None:
    """Returns a text that is equal for values that mean the same in two loads of a pipeline's files.

    Functions are compared by code, defaults, closures, and the globals that they name, through the pipeline's own
    modules; where a line is does not count. Libraries are compared by name.

    Returns:
        None when a value cannot be compared, such as a DataFrame made by module-level code: take it for changed.
    """
    try:
        text = _Walk().key(values)
    except (_UnknownValueError, RecursionError):
        return None
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


class _Walk:
    """Visits each function once: functions may call each other."""

    def __init__(self) -> None:
        self._seen: dict[int, int] = {}

    def key(self, value: Any) -> str:
        if isinstance(value, _PLAIN):
            return repr(value)
        if isinstance(value, SqlQuery):
            return f"sql {value.text.text!r} {value.schema!r} {value.catalog!r}"
        if isinstance(value, type):
            return self._class(value)
        if type(value).__name__ in _OF_THE_ENGINE:
            return type(value).__name__
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{self.key(name)}: {self.key(each)}' for name, each in value.items())}}}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(self.key, value))}]"
        if isinstance(value, set | frozenset):
            return f"{{{', '.join(sorted(map(self.key, value)))}}}"
        return self._referred(value)

    def _referred(self, value: Any) -> str:
        if isinstance(value, CodeType):
            return self._code(value, {})
        if isinstance(value, ModuleType):
            if isinstance(value, PipelineModule):
                raise _UnknownValueError  # as a whole: `_code` follows the names that are read of it
            return f"module {value.__name__}"
        if isinstance(value, functools.partial):
            return f"partial {self.key((value.func, value.args, value.keywords))}"
        function = getattr(value, "__wrapped__", None) or getattr(value, "func", None) or value
        if isinstance(function, FunctionType):
            return self._function(function) + (self._udf(value) if function is not value else "")
        if type(value).__module__.startswith("pyspark.sql") and type(value).__name__ in {"Column", "StructType"}:
            return str(value)
        name = getattr(value, "__qualname__", None)
        if callable(value) and name is not None and getattr(value, "__module__", None) in sys.modules:
            return f"library {value.__module__}.{name}"
        if name is not None and isinstance(value, type(len)):
            return f"builtin {name}"
        raise _UnknownValueError

    @staticmethod
    def _udf(value: Any) -> str:
        return f" {getattr(value, 'returnType', '')} {getattr(value, 'evalType', '')}"

    def _function(self, function: FunctionType) -> str:
        module = sys.modules.get(function.__module__)
        if module is not None and not isinstance(module, PipelineModule):
            return f"library {function.__module__}.{function.__qualname__}"
        if id(function) in self._seen:
            return f"function {self._seen[id(function)]}"
        self._seen[id(function)] = len(self._seen)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        outside = self.key((function.__defaults__, function.__kwdefaults__, cells))
        return f"{self._code(function.__code__, function.__globals__)} {outside}"

    def _class(self, kind: type) -> str:
        module = sys.modules.get(kind.__module__)
        if module is not None and not isinstance(module, PipelineModule):
            return f"class {kind.__module__}.{kind.__qualname__}"
        raise _UnknownValueError

    def _code(self, code: CodeType, known: Mapping[str, Any]) -> str:
        parts: list[str] = [code.co_code.hex(), repr(code.co_names), repr(code.co_varnames)]
        parts += (self._code(each, known) if isinstance(each, CodeType) else self.key(each) for each in code.co_consts)
        for instruction in dis.get_instructions(code):
            name = instruction.argval
            if instruction.opname == "IMPORT_NAME":
                module = sys.modules.get(str(name))
                if module is None or isinstance(module, PipelineModule):
                    raise _UnknownValueError
            elif instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME"} and name in known:
                parts.append(f"{name}={self._named(known[name], code)}")
            elif instruction.opname == "LOAD_GLOBAL" and not hasattr(builtins, str(name)):
                parts.append(f"{name} is not there")
        return " ".join(parts)

    def _named(self, value: Any, code: CodeType) -> str:
        if not isinstance(value, PipelineModule):
            return self.key(value)
        read = [name for name in code.co_names if name in vars(value)]
        return self.key([(name, vars(value)[name]) for name in read])
