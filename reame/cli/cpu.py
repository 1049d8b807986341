"""Which vector instructions llama.cpp was built for, against what this CPU has. Pure parsers."""

from __future__ import annotations

from collections.abc import Mapping

from reame.cli.checks import Check, fail, ok, warn

CPU_FLAGS: Mapping[str, tuple[str, ...]] = {
    "SSE3": ("pni", "sse3"),
    "SSSE3": ("ssse3",),
    "AVX": ("avx",),
    "AVX2": ("avx2",),
    "F16C": ("f16c",),
    "FMA": ("fma",),
    "BMI2": ("bmi2",),
    "AVX_VNNI": ("avx_vnni",),
    "AVX512": ("avx512f",),
    "AVX512_VBMI": ("avx512vbmi", "avx512_vbmi"),
    "AVX512_VNNI": ("avx512_vnni",),
    "AVX512_BF16": ("avx512_bf16",),
    "AMX_INT8": ("amx_int8",),
    "NEON": ("asimd", "neon"),
    "FP16_VA": ("asimdhp",),
    "DOTPROD": ("asimddp",),
    "MATMUL_INT8": ("i8mm",),
    "SVE": ("sve",),
}
"""llama.cpp's name of a feature, and the kernel's names of it."""

IMPORTANT = frozenset(
    {"AVX2", "F16C", "FMA", "AVX512", "AVX512_VNNI", "AVX_VNNI", "DOTPROD", "MATMUL_INT8", "FP16_VA"}
)
"""Their lack costs speed that anyone would notice."""

_REBUILD = "compile it for this CPU: make wheel, then install that wheel"


def parse_system_info(text: str) -> frozenset[str]:
    """The features in ``llama_print_system_info`` that are on."""
    fields = (part.rpartition(":")[2].partition("=") for part in text.split("|"))
    return frozenset(name.strip() for name, _, value in fields if value.strip() not in ("", "0"))


def parse_cpu_flags(cpuinfo: str) -> frozenset[str]:
    """The first processor's flags (x86) or features (ARM) in ``/proc/cpuinfo``."""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


def features_of(flags: frozenset[str]) -> frozenset[str]:
    """The kernel's flags in llama.cpp's names."""
    return frozenset(feature for feature, names in CPU_FLAGS.items() if not flags.isdisjoint(names))


def check_llama(built: frozenset[str] | None, flags: frozenset[str], problem: str | None) -> Check:
    """llama-cpp-python loads, runs here, and uses what the CPU has.

    ``built`` are the features it was compiled for, ``None`` when it does not load (``problem``
    says why). Without ``flags`` nothing can be compared.
    """
    if built is None:
        return fail("llama-cpp-python", f"does not load: {problem}", _REBUILD)
    here = features_of(flags)
    foreign = sorted((built & CPU_FLAGS.keys()) - here) if flags else []
    if foreign:
        return fail(
            "llama-cpp-python", f"built for a CPU with {', '.join(foreign)}; this one has none", _REBUILD
        )
    unused = sorted((here & IMPORTANT) - built)
    if unused:
        return warn("llama-cpp-python", f"built without {', '.join(unused)}, which this CPU has", _REBUILD)
    used = ", ".join(sorted(built & here)) or "no vector instructions known here"
    return ok("llama-cpp-python", f"loads; uses {used}")
