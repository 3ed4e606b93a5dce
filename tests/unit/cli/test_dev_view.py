"""What `penstock dev` prints of the warnings of one edit after the other."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.screen.dev_view import EditView
from penstock.errors import ConfigError, SourceLocation
from penstock.runtime.dev.results import EditOutcome

FILE = Path("/project/pipeline.py")


def warning(line: int, settings: str = "spark.executor.cores") -> ConfigError:
    return ConfigError("DEV_SETTINGS_CHANGED", location=SourceLocation(str(FILE), line), settings=settings)


def test_a_warning_is_printed_once_until_it_changes(capsys: pytest.CaptureFixture[str]) -> None:
    view = EditView(FILE.parent, 5)

    def warned(*warnings: ConfigError, errors: tuple[ConfigError, ...] = ()) -> int:
        view.show(EditOutcome(warnings=warnings, errors=errors), [FILE])
        return capsys.readouterr().err.count("DEV_SETTINGS_CHANGED")

    assert warned(warning(1)) == 1
    assert warned(warning(1)) == 0
    assert warned(warning(7)) == 0, "it has only moved"
    assert warned(errors=(ConfigError("INVALID_SETTING", setting="x"),)) == 0
    assert warned(warning(7)) == 0
    assert warned(warning(7, "spark.master"), warning(7)) == 1
    assert warned() == 0
    assert warned(warning(7)) == 1, "it was gone"
