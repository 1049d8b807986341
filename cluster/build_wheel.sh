#!/usr/bin/env bash
# Builds the llama-cpp-python wheel for this CPU once, and prints the wheel's path.
#
#   cluster/build_wheel.sh [PYTHON]
#
# The build is native, so a wheel may not run on another CPU: the cache key holds the CPU's
# features beside version, Python, compiler flags and machine. Environment:
#   REAME_WHEEL_DIR             the cache (default: $XDG_CACHE_HOME/reame/wheels)
#   CMAKE_ARGS                  arguments for llama.cpp's build (default: -DLLAVA_BUILD=OFF)
#   CMAKE_BUILD_PARALLEL_LEVEL  compilers at once (default: one for each processor)
set -euo pipefail

python=${1:-python3}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${REAME_WHEEL_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/reame/wheels}
export CMAKE_ARGS=${CMAKE_ARGS:--DLLAVA_BUILD=OFF}

fail() {
	echo "error: $*" >&2
	exit 1
}

pinned_version() {
	sed -n 's/^ *"llama-cpp-python==\([^"]*\)".*/\1/p' "$root/pyproject.toml"
}

# x86 calls them flags, ARM Features. Where there is no /proc, the machine's name must do.
cpu_features() {
	if [ -r /proc/cpuinfo ]; then
		sed -n '/^\(flags\|Features\)[[:space:]]*:/{s/^[^:]*: *//p;q}' /proc/cpuinfo
	else
		sysctl -n machdep.cpu.brand_string 2>/dev/null || true
	fi
}

hash_text() {
	"$python" -c 'import hashlib, sys; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest()[:16])'
}

cached_wheel() {
	local wheel
	for wheel in "$1"/llama_cpp_python-*.whl; do
		if [ -f "$wheel" ]; then
			echo "$wheel"
			return 0
		fi
	done
	return 1
}

require_compilers() {
	local tool missing=()
	for tool in "${CC:-gcc}" "${CXX:-g++}" make; do
		command -v "${tool%% *}" >/dev/null || missing+=("$tool")
	done
	if ((${#missing[@]})); then
		fail "compiling llama.cpp needs ${missing[*]}; install with: apt-get install gcc g++ make"
	fi
}

# Into a folder of its own first; the rename makes it visible whole or not at all.
build() {
	local version=$1 target=$2 part
	require_compilers
	part=$(mktemp -d "$target.part.XXXXXX")
	trap 'rm -rf "$part"' EXIT
	echo "compiling llama-cpp-python $version for this CPU, once; it takes some minutes" >&2
	CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 2)} \
		"$python" -m pip wheel --quiet --no-deps --no-cache-dir --no-binary llama-cpp-python \
		--wheel-dir "$part" "llama-cpp-python==$version" >&2 ||
		fail "llama-cpp-python $version could not be built; pip's last lines say why"
	cached_wheel "$part" >/dev/null || fail "pip made no wheel of llama-cpp-python $version"
	rm -rf "$target"
	chmod 755 "$part"
	mv "$part" "$target"
	trap - EXIT
}

command -v "$python" >/dev/null || fail "no Python at $python"
version=$(pinned_version)
[ -n "$version" ] || fail "$root/pyproject.toml pins no llama-cpp-python"
abi=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("SOABI"))')
key=$(printf '%s\n' "$version" "$abi" "$(uname -sm)" "$(cpu_features)" "$CMAKE_ARGS" "${CFLAGS:-}" "${CXXFLAGS:-}" | hash_text)
target=$cache/llama-cpp-python-$version-$key

mkdir -p "$cache" || fail "cannot make $cache; set REAME_WHEEL_DIR"
if ! cached_wheel "$target"; then
	exec 9>"$target.lock"
	if command -v flock >/dev/null; then
		flock -n 9 || { echo "waiting for another build of the same wheel" >&2 && flock 9; }
	fi
	cached_wheel "$target" >/dev/null || build "$version" "$target"
	cached_wheel "$target"
fi
