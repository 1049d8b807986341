"""Types of configuration values: from the strings of a file to what the program uses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationInfo

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})
_BUILT_IN_TEMPLATES = frozenset({"chatml", "plain"})


def parse_bool(value: object) -> bool:
    """The words that the C++ Reame takes, in any case."""
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError("it must be true, yes, on, 1, false, no, off or 0")


def none_if_blank(value: object) -> object:
    """An empty value means that the key is not set."""
    return None if value == "" else value


def none_if_auto(value: object) -> object:
    """``auto``, like nothing at all, lets reame decide."""
    return None if isinstance(value, str) and value.lower() in ("", "auto") else value


def none_if_zero(value: object) -> object:
    """Nothing, ``0`` or ``0.0`` means no limit."""
    try:
        return None if value == "" or float(str(value)) == 0 else value
    except ValueError:
        return value


def split_list(value: object) -> object:
    """``a, b`` as a tuple without blanks."""
    if isinstance(value, str):
        return tuple(part for part in (piece.strip() for piece in value.split(",")) if part)
    return value


def lower(value: object) -> object:
    """Words are compared without case."""
    return value.lower() if isinstance(value, str) else value


def base_folder(info: ValidationInfo) -> Path:
    """Where relative paths start: the file's folder, else the working directory."""
    base = info.context.get("base") if isinstance(info.context, dict) else None
    return base if isinstance(base, Path) else Path.cwd()


def resolve_path(path: Path, info: ValidationInfo) -> Path:
    """An absolute path; symbolic links stay."""
    return base_folder(info) / path.expanduser()


def resolve_template(value: str, info: ValidationInfo) -> str:
    """A template's text or built-in name stays; a file's path becomes absolute."""
    if value in _BUILT_IN_TEMPLATES or "{{" in value or "{%" in value:
        return value
    return str(resolve_path(Path(value), info))


Bool = Annotated[bool, BeforeValidator(parse_bool)]
Text = Annotated[str | None, BeforeValidator(none_if_blank)]
Secret = Annotated[SecretStr | None, BeforeValidator(none_if_blank)]
Names = Annotated[tuple[str, ...], BeforeValidator(split_list)]
FilePath = Annotated[Path, AfterValidator(resolve_path)]
OptionalPath = Annotated[FilePath | None, BeforeValidator(none_if_blank)]
Template = Annotated[Annotated[str, AfterValidator(resolve_template)] | None, BeforeValidator(none_if_blank)]
AutoCount = Annotated[Annotated[int, Field(ge=1)] | None, BeforeValidator(none_if_auto)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]
