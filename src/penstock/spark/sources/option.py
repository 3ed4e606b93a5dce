"""The options of a source or a sink: what there is, what is refused, how a value has to look, secrets in values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from penstock.errors import DefinitionError, did_you_mean

OptionType = Literal["text", "number", "flag"]

_ANY: Final = "*"

Secret = Callable[[str], str]
"""Returns the value of a secret by its name in `secrets`; raises SECRET_NOT_DECLARED and SECRET_NOT_FOUND."""

_REFERENCE: Final = re.compile(r"\$\{secret:([^}]*)\}")
_QUOTED: Final = "sasl.jaas.config"  # in which a value is between double quotes


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a connector. Names are compared without regard to case, as Spark does.

    Attributes:
        name: How it is written. With `*` at its end it stands for all that begin so: `kafka.*`.
        about: What it does, in a few words.
        type: `text`, `number` (a whole one, not below zero) or `flag` (true or false); default: `text`.
        default: The value that a read or a sink without it has; None: no value.
        required: Whether a read or a sink without it is refused.
        secret: Whether its value is hidden: no error, event or plan repeats it.
        place: Whether its value is what a person calls the source, such as a topic or a table.
        refused: Why it is not taken; empty: it is. `instead` is then what to do, in words.
        harmless: A value, in lower case, with which a refused option may stand all the same.
    """

    name: str
    about: str = ""
    type: OptionType = "text"
    default: str | None = None
    required: bool = False
    secret: bool = False
    place: bool = False
    refused: str = ""
    instead: str = ""
    harmless: str | None = None

    def fits(self, given: str) -> bool:
        """Whether the option is meant by a name."""
        name, given = self.name.casefold(), given.casefold()
        return given.startswith(name.removesuffix(_ANY)) if name.endswith(_ANY) else given == name


@dataclass(frozen=True, slots=True)
class OptionProblem:
    """What is wrong with one option: no such `unknown` one, a `refused` one, or its value; words for a person."""

    kind: Literal["unknown", "refused", "value"]
    option: str
    reason: str
    instead: str


def problems(options: Sequence[Option], given: Mapping[str, str]) -> Iterator[OptionProblem]:
    """Yields what is wrong with the options that an author gave, and which ones are missing."""
    for name, value in given.items():
        option = _meant(options, name)
        if option is None:
            known = [each.name for each in options if not each.refused and not each.name.endswith(_ANY)]
            yield OptionProblem("unknown", name, f"there is no option '{name}'", did_you_mean(name, known))
        elif option.refused and value.strip().casefold() != option.harmless:
            yield OptionProblem("refused", option.name, option.refused, option.instead)
        elif (expected := _expected(option, value)) is not None:
            said = f"the option '{option.name}' is {expected}"
            yield OptionProblem("value", option.name, said if option.secret else f"{said}, not '{value}'", "Correct it")
    for option in options:
        if option.required and not any(option.fits(name) for name in given):
            way_out = f"Add the option '{option.name}'" + (f": {option.about}" if option.about else "")
            yield OptionProblem("value", option.name, f"the option '{option.name}' is missing", way_out)


def check_options(source_format: str, options: Sequence[Option], given: Mapping[str, str]) -> None:
    """Refuses the first option of a read that is wrong: Spark passes over a misspelt one without a word.

    Raises:
        DefinitionError: SOURCE_OPTION_UNKNOWN, SOURCE_OPTION_REFUSED, SOURCE_OPTION_INVALID.
    """
    for problem in problems(options, given):
        raise _refusal(source_format, problem)


def with_defaults(options: Sequence[Option], given: Mapping[str, str]) -> dict[str, str]:
    """Returns the options under their own names, those that are not given with their defaults."""
    found = {option.name: option.default for option in options if option.default is not None}
    for name, value in given.items():
        option = _meant(options, name)
        found[name if option is None or option.name.endswith(_ANY) else option.name] = value
    return found


def taken(*names: str) -> Iterator[Option]:
    """Returns options of which only the names are known here: what they mean is Spark's matter."""
    return (Option(name) for name in names)


def refused(reasons: Mapping[str, tuple[str, str]]) -> Iterator[Option]:
    """Returns options that are not taken, each with the reason and what to do instead."""
    return (Option(name, refused=reason, instead=instead) for name, (reason, instead) in reasons.items())


def places(options: Iterable[Option]) -> tuple[str, ...]:
    """Returns the names of the options whose values say what is read."""
    return tuple(option.name for option in options if option.place)


def _meant(options: Sequence[Option], name: str) -> Option | None:
    """An option of that very name comes before one that stands for many."""
    found = [option for option in options if option.fits(name)]
    return min(found, key=lambda option: option.name.endswith(_ANY), default=None)


def _expected(option: Option, value: str) -> str | None:
    match option.type:
        case "number" if not value.strip().isdecimal():
            return "a whole number"
        case "flag" if value.strip().casefold() not in {"true", "false"}:
            return "true or false"
        case _:
            return None


def _refusal(kind: str, problem: OptionProblem) -> DefinitionError:
    option, reason, instead = problem.option, problem.reason, problem.instead
    match problem.kind:
        case "unknown":
            return DefinitionError("SOURCE_OPTION_UNKNOWN", format=kind, option=option, suggestion=instead)
        case "refused":
            return DefinitionError("SOURCE_OPTION_REFUSED", format=kind, option=option, reason=reason, instead=instead)
        case "value":
            return DefinitionError("SOURCE_OPTION_INVALID", format=kind, option=option, reason=reason, way_out=instead)


def plain_options(options: Mapping[str, str]) -> dict[str, str]:
    """Returns the options with classes of Kafka under their own names: on Databricks they begin with `kafkashaded.`."""
    return {
        key: value.replace("kafkashaded.", "") if key.casefold().startswith("kafka.") else value
        for key, value in options.items()
    }


def no_secret(name: str) -> str:
    """The `Secret` of who has none.

    Raises:
        DefinitionError: SECRET_NOT_DECLARED.
    """
    raise DefinitionError("SECRET_NOT_DECLARED", secret=name, suggestion="")


def secret_options(options: Mapping[str, str], secret: Secret) -> dict[str, str]:
    """Returns those options that hold references, with the values in their places: never show or log the result.

    Raises:
        DefinitionError: SECRET_NOT_DECLARED.
        ConfigError: SECRET_NOT_FOUND.
    """
    return {key: _filled(key, text, secret) for key, text in options.items() if _REFERENCE.search(text)}


def _filled(key: str, text: str, secret: Secret) -> str:
    def value(found: re.Match[str]) -> str:
        resolved = secret(found[1])
        if key.casefold().endswith(_QUOTED):
            return resolved.replace("\\", "\\\\").replace('"', '\\"')
        return resolved

    return _REFERENCE.sub(value, text)
