"""Configuration: ``reame.conf`` and the environment become frozen, typed settings."""

from reame.config.keys import api_keys
from reame.config.sections import (
    CacheSettings,
    EngineSettings,
    LoggingSettings,
    MemorySettings,
    MirrorSettings,
    ModelSettings,
    RoutingSettings,
    SecuritySettings,
    ServerSettings,
    SpeculativeSettings,
)
from reame.config.settings import Settings, load_settings

__all__ = [
    "CacheSettings",
    "EngineSettings",
    "LoggingSettings",
    "MemorySettings",
    "MirrorSettings",
    "ModelSettings",
    "RoutingSettings",
    "SecuritySettings",
    "ServerSettings",
    "Settings",
    "SpeculativeSettings",
    "api_keys",
    "load_settings",
]
