"""Model files: what they hold, where they come from, which one is meant."""

from reame.catalog.lookup import find_manifest
from reame.catalog.manifest import Manifest, load_manifests
from reame.catalog.pull import Pulled, pull, pull_model
from reame.catalog.resolve import configured_manifest, models_directory, resolve_model
from reame.catalog.summary import GgufSummary, check_gguf, gguf_summary

__all__ = [
    "GgufSummary",
    "Manifest",
    "Pulled",
    "check_gguf",
    "configured_manifest",
    "find_manifest",
    "gguf_summary",
    "load_manifests",
    "models_directory",
    "pull",
    "pull_model",
    "resolve_model",
]
