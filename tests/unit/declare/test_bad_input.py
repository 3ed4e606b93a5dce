"""Whatever a file says wrongly, or Penstock does not do, is named with its place and what to write instead."""

from __future__ import annotations

import inspect
from pathlib import Path

from tests.unit.declare.conftest import Load

from penstock.declare import SPELLINGS, load_pipeline
from penstock.declare.sql.refusals import PLAIN_TABLE, REFUSED_CREATIONS, REFUSED_STATEMENTS

GIVEN = {"target": "'t'", "source": "'s'", "keys": "['id']", "sequence_by": "'at'", "name": "'n'", "inv": "'a > 0'"}
GIVEN |= {"expectations": "{'n': 'a > 0'}", "format": "'delta'", "column": "'at'"}
IN_A_FUNCTION = {"read", "read_stream", "readStream", "enable_local_execution"}


def test_each_parameter_of_each_declaration_says_what_it_takes(load: Load) -> None:
    calls, expected = [], []
    for name, function in SPELLINGS["penstock"].items():
        parameters = inspect.signature(function).parameters
        for parameter in parameters if name not in IN_A_FUNCTION else ():
            given = {key: value for key, value in GIVEN.items() if key in parameters} | {parameter: "3.5"}
            calls.append(f"ps.{name}({', '.join(f'{key}={value}' for key, value in given.items())})\n")
            expected.append((f"pipeline.py:{len(calls) + 1}", "INVALID_PARAMETER", name, parameter, "float"))
    errors = load(f"import penstock as ps\n{''.join(calls)}").errors
    facts = ("function", "parameter", "got")
    told = [(str(error.location), error.condition, *(error.facts[fact] for fact in facts)) for error in errors]
    assert told == expected
    assert all(error.facts["expected"] and error.fix for error in errors)


def test_each_statement_that_is_no_declaration_is_named(tmp_path: Path) -> None:
    refused = [*REFUSED_STATEMENTS, *REFUSED_CREATIONS, *PLAIN_TABLE]
    file = tmp_path / "pipeline.sql"
    file.write_text("".join(f"{statement} x AS SELECT 1;\n" for statement in refused), encoding="utf-8")
    errors = load_pipeline([file], root=tmp_path).errors
    assert {error.condition for error in errors} == {"UNSUPPORTED_DECLARATION"}
    assert [error.facts["name"] for error in errors] == refused
    assert [str(error.location).split(":")[1] for error in errors] == [str(n) for n in range(1, len(refused) + 1)]
    assert all(error.facts["reason"] and error.facts["alternative"] for error in errors)
