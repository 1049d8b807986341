"""Pulling over HTTP: the whole file under its name, or an error and a .part to go on with."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reame.catalog import Manifest, pull, pull_model
from reame.catalog.part import PartFile
from reame.errors import ConfigError, FetchError, ModelInvalidError

NAME = "tiny.gguf"


def _manifest(web: Any, **changes: Any) -> Manifest:
    fields = {
        "name": "tiny",
        "title": "Tiny",
        "family": "llama",
        "licence": "MIT",
        "file": NAME,
        "sources": [f"{web.url}/x/{NAME}"],
        "size": len(web.body),
        "sha256": hashlib.sha256(web.body).hexdigest(),
        "context_length": 256,
    }
    return Manifest.model_validate(fields | changes)


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_file_arrives_under_its_name(web: Any, tmp_path: Path, naps: Any) -> None:
    """A pulled URL is the server's file, with nothing left beside it and progress to the end."""
    seen: list[tuple[int, int | None]] = []
    path = pull(f"{web.url}/a/{NAME}?x=1", tmp_path / "new", lambda *p: seen.append(p), around=naps.around())
    assert path.read_bytes() == web.body
    assert _names(path.parent) == {NAME}
    assert seen[-1] == (len(web.body), len(web.body))


def test_second_pull_asks_nobody(web: Any, tmp_path: Path, naps: Any) -> None:
    """A whole file that is there already costs no request."""
    known = [_manifest(web)]
    first = pull_model("tiny", tmp_path, manifests=known, around=naps.around())
    second = pull_model("ti", tmp_path, manifests=known, around=naps.around())
    assert (first.was_there, second.was_there) == (False, True)
    assert first.checked_by == ("size", "GGUF structure", "sha256")
    assert len(web.requests) == 1


def test_damaged_file_is_replaced(web: Any, tmp_path: Path, naps: Any) -> None:
    """A file that is not the manifest's is fetched again."""
    (tmp_path / NAME).write_bytes(web.body[:-1] + b"x")
    assert pull("tiny", tmp_path, manifests=[_manifest(web)], around=naps.around()).read_bytes() == web.body


def test_cut_connection_is_resumed(web: Any, tmp_path: Path, naps: Any) -> None:
    """After a cut only the rest is asked for, under the condition that the file is the same."""
    web.cuts = [1000, 500]
    pull("tiny", tmp_path, manifests=[_manifest(web)], around=naps.around())
    assert [r.get("range") for r in web.requests] == [None, "bytes=1000-", "bytes=1500-"]
    assert [r.get("if-range") for r in web.requests] == [None, '"v1"', '"v1"']
    assert len(naps.seconds) == 2


def test_next_run_goes_on(web: Any, tmp_path: Path, naps: Any) -> None:
    """What a failed run brought is kept for the next one."""
    web.cuts = [1000]
    web.statuses = []
    manifest = _manifest(web)
    naps_then_fail = _FailAfterCut(web)
    with pytest.raises(FetchError, match="check the network"):
        pull("tiny", tmp_path, manifests=[manifest], around=naps_then_fail.around(naps))
    assert _names(tmp_path) == {f"{NAME}.part", f"{NAME}.state.part"}
    web.statuses, web.requests = [], []
    path = pull("tiny", tmp_path, manifests=[manifest], around=naps.around())
    assert path.read_bytes() == web.body
    assert web.requests[0]["range"] == "bytes=1000-"


class _FailAfterCut:
    """Answers 503 forever once the first wait begins."""

    def __init__(self, web: Any) -> None:
        self._web = web

    def around(self, naps: Any) -> Any:
        from reame.catalog.transfer import Surroundings

        def sleep(_: float) -> None:
            self._web.statuses = [503]

        return Surroundings(sleep=sleep, free_bytes=lambda _: naps.free, jitter=lambda: 0.0)


def test_changed_file_begins_anew(web: Any, tmp_path: Path, naps: Any) -> None:
    """When the server's file changed meanwhile, old bytes are not mixed with new ones."""
    part = PartFile(tmp_path / NAME)
    part.path.write_bytes(b"old" * 100)
    part.remember(f"{web.url}/{NAME}", '"v0"')
    assert pull(f"{web.url}/{NAME}", tmp_path, around=naps.around()).read_bytes() == web.body


def test_part_of_another_origin_is_dropped(web: Any, tmp_path: Path, naps: Any) -> None:
    """Bytes from elsewhere are not continued."""
    part = PartFile(tmp_path / NAME)
    part.path.write_bytes(b"old" * 100)
    part.remember("http://elsewhere/x.gguf", '"v1"')
    assert pull(f"{web.url}/{NAME}", tmp_path, around=naps.around()).read_bytes() == web.body
    assert "range" not in web.requests[0]


def test_wrong_kept_bytes_get_a_fresh_chance(web: Any, tmp_path: Path, naps: Any) -> None:
    """Kept bytes that turn out wrong are thrown away and everything is fetched once more."""
    part = PartFile(tmp_path / NAME)
    part.path.write_bytes(b"\0" * 1000)
    part.remember(f"{web.url}/x/{NAME}", '"v1"')
    assert pull("tiny", tmp_path, manifests=[_manifest(web)], around=naps.around()).read_bytes() == web.body
    assert [r.get("range") for r in web.requests] == ["bytes=1000-", None]


def test_complete_part_needs_no_bytes(web: Any, tmp_path: Path, naps: Any) -> None:
    """A run that was killed just before the rename loses nothing."""
    part = PartFile(tmp_path / NAME)
    part.path.write_bytes(web.body)
    part.remember(f"{web.url}/{NAME}", '"v1"')
    assert pull(f"{web.url}/{NAME}", tmp_path, around=naps.around()).read_bytes() == web.body
    assert len(web.requests) == 1


def test_server_without_ranges(web: Any, tmp_path: Path, naps: Any) -> None:
    """A server that ignores ranges sends everything again, and the file is right."""
    web.ranges, web.cuts = False, [1000]
    assert pull("tiny", tmp_path, manifests=[_manifest(web)], around=naps.around()).read_bytes() == web.body


def test_server_without_validator_restarts(web: Any, tmp_path: Path, naps: Any) -> None:
    """Without an ETag nothing proves that the rest belongs to the beginning."""
    web.etag, web.cuts = None, [1000]
    pull("tiny", tmp_path, manifests=[_manifest(web)], around=naps.around())
    assert [r.get("range") for r in web.requests] == [None, None]


def test_endless_cuts_give_up(web: Any, tmp_path: Path, naps: Any) -> None:
    """A server that never gets further ends in an error, with growing waits."""
    web.ranges, web.etag, web.cuts = False, None, [1000] * 50
    with pytest.raises(FetchError, match=r"of \d+ bytes|peer closed"):
        pull("tiny", tmp_path, manifests=[_manifest(web)], around=naps.around())
    assert naps.seconds == [1.0, 2.0, 4.0, 8.0]


def test_busy_server_is_asked_again(web: Any, tmp_path: Path, naps: Any) -> None:
    """503 is tried again, after the time that the server asks for."""
    web.statuses, web.retry_after = [503, 429], "7"
    pull("tiny", tmp_path, manifests=[_manifest(web)], around=naps.around())
    assert naps.seconds == [7.0, 7.0]


@pytest.mark.parametrize(("status", "word"), [(404, "404"), (403, "403"), (410, "410")])
def test_refusal_is_final(web: Any, tmp_path: Path, naps: Any, status: int, word: str) -> None:
    """What will not change is not tried again."""
    web.statuses = [status] * 9
    with pytest.raises(FetchError, match=word):
        pull("tiny", tmp_path, manifests=[_manifest(web)], around=naps.around())
    assert len(web.requests) == 1
    assert naps.seconds == []


def test_wrong_size_is_refused_before_the_transfer(web: Any, tmp_path: Path, naps: Any) -> None:
    """A file of another size is another version; nothing is written."""
    manifest = _manifest(web, size=len(web.body) + 1)
    with pytest.raises(FetchError, match="another version"):
        pull("tiny", tmp_path, manifests=[manifest], around=naps.around())
    assert _names(tmp_path) == set()


def test_wrong_hash_is_refused(web: Any, tmp_path: Path, naps: Any) -> None:
    """A file of another content never gets the model's name."""
    with pytest.raises(ModelInvalidError, match="sha256"):
        pull("tiny", tmp_path, manifests=[_manifest(web, sha256="0" * 64)], around=naps.around())
    assert _names(tmp_path) == set()


def test_page_instead_of_model_is_refused(web: Any, tmp_path: Path, naps: Any) -> None:
    """An error page sent with status 200 is no model."""
    web.body = b"<html>sign in</html>"
    with pytest.raises(ModelInvalidError, match="not a GGUF"):
        pull(f"{web.url}/{NAME}", tmp_path, around=naps.around())


def test_second_source_helps(web: Any, tmp_path: Path, naps: Any) -> None:
    """When the first source fails, the next one is asked."""
    web.statuses = [404]
    manifest = _manifest(web, sources=[f"{web.url}/gone/{NAME}", f"{web.url}/{NAME}"])
    assert pull("tiny", tmp_path, manifests=[manifest], around=naps.around()).is_file()


def test_parts_are_joined(web: Any, tmp_path: Path, naps: Any, serve: Callable[[Any], Any]) -> None:
    """A file kept in pieces is put together in their order."""
    whole = web.body
    manifest = _manifest(web)
    web.body, second = whole[:2000], serve(type(web)(whole[2000:]))
    sources = [[f"{web.url}/{NAME}", f"{second.url}/{NAME}"]]
    manifest = manifest.model_copy(
        update={"sources": Manifest.model_validate(manifest.model_dump() | {"sources": sources}).sources}
    )
    assert pull("tiny", tmp_path, manifests=[manifest], around=naps.around()).read_bytes() == whole


def test_full_disk_is_seen_before(web: Any, tmp_path: Path, naps: Any) -> None:
    """Too little space is an error before the first byte."""
    naps.free = 1000
    with pytest.raises(FetchError, match=r"not enough disk space.*MiB needed.*--dir"):
        pull("tiny", tmp_path, manifests=[_manifest(web)], around=naps.around())
    assert _names(tmp_path) == set()


def test_disk_that_fills_up_keeps_the_part(
    web: Any, tmp_path: Path, naps: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Space that runs out midway is named, and what arrived stays."""
    import errno

    def full(done: int, total: int | None) -> None:
        if done:
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(FetchError, match="the disk is full"):
        pull("tiny", tmp_path, full, manifests=[_manifest(web)], around=naps.around())
    assert (tmp_path / f"{NAME}.part").is_file()


def test_hub_honours_endpoint_and_token(web: Any, tmp_path: Path, naps: Any) -> None:
    """A hub file comes from HF_ENDPOINT, with the token."""
    environ = {"HF_ENDPOINT": web.url + "/", "HF_TOKEN": "hf_x"}
    pull(f"hf:org/repo@abc/{NAME}", tmp_path, environ=environ, around=naps.around())
    assert web.requests[0]["authorization"] == "Bearer hf_x"


def test_token_stays_with_its_host(web: Any, tmp_path: Path, naps: Any, serve: Callable[[Any], Any]) -> None:
    """A redirect to another host does not carry the token along."""
    hub = serve(type(web)(redirect=f"{web.url}/cdn/{NAME}"))
    pull(
        f"hf:org/repo/{NAME}",
        tmp_path,
        environ={"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_x"},
        around=naps.around(),
    )
    assert hub.requests[0]["authorization"] == "Bearer hf_x"
    assert "authorization" not in web.requests[0]


def test_gated_model_says_what_to_do(web: Any, tmp_path: Path, naps: Any) -> None:
    """Without access the error names the licence page and HF_TOKEN."""
    web.statuses = [401]
    with pytest.raises(FetchError, match=r"accept the licence.*HF_TOKEN"):
        pull(f"hf:org/repo/{NAME}", tmp_path, environ={"HF_ENDPOINT": web.url}, around=naps.around())


def test_errors_hide_what_urls_carry(web: Any, tmp_path: Path, naps: Any) -> None:
    """Passwords and signatures in a URL do not reach an error message."""
    web.statuses = [404]
    url = web.url.replace("http://", "http://user:secret@") + f"/{NAME}?sig=secret"
    with pytest.raises(FetchError) as caught:
        pull(url, tmp_path, around=naps.around())
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    "reference",
    [
        "https://host/model.bin",
        "https://host/",
        "pypi:nothing",
        "hf:only/two",
        "https://host/..%2f.gguf",
        "hf:a/b/",
    ],
)
def test_malformed_references_are_refused(tmp_path: Path, reference: str) -> None:
    """A reference that cannot name a model file says how one is written."""
    with pytest.raises(ConfigError):
        pull(reference, tmp_path)


def test_concurrent_pulls_do_not_mix(web: Any, tmp_path: Path, naps: Any) -> None:
    """Several pulls of one file end with one whole file and one transfer."""
    from concurrent.futures import ThreadPoolExecutor

    manifest = _manifest(web)
    with ThreadPoolExecutor(4) as pool:
        runs = [
            pool.submit(pull, "tiny", tmp_path, manifests=[manifest], around=naps.around()) for _ in range(4)
        ]
    assert {run.result().read_bytes() for run in runs} == {web.body}
    assert len(web.requests) == 1
    assert _names(tmp_path) == {NAME}
