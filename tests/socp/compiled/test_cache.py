"""The cache of kernels: its place, damaged files, folders that are not writable, and removal of old files."""

import contextlib
import json
import logging
import os
import shutil
import time
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import pytest

from socp.compiled import cache, kernels, packaged
from socp.compiled.target import MachineCode
from tests.socp.compiled.test_kernels import CODE, run, write

pytestmark = pytest.mark.skipif(kernels.INTERPRETED, reason="nothing is compiled with NUMBA_DISABLE_JIT")


@pytest.mark.full
def test_the_users_folder(tmp_path):
    write(tmp_path)
    run(CODE, tmp_path, {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(tmp_path / "users"), "HOME": str(tmp_path)})
    assert not (tmp_path / "cache").exists()
    if os.name == "posix" and os.uname().sysname == "Linux":
        assert list((tmp_path / "users").glob("centralpath/*/*.kernel"))
    assert not list(tmp_path.glob("*.nb[ic]")) and not list((tmp_path / "__pycache__").glob("*.nb[ic]"))


def test_folders_that_nobody_used_for_long_are_removed(tmp_path, monkeypatch):
    now = time.time()
    for name, age in (("old", cache.UNUSED + 10.0), ("young", 10.0), ("mine", 2 * 24 * 3600.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / cache.MARK).touch()
        os.utime(tmp_path / name / cache.MARK, (now - age, now - age))
    (tmp_path / "not ours").mkdir()
    cache._mark(tmp_path / "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "not ours", "young"]
    assert now - (tmp_path / "mine" / cache.MARK).stat().st_mtime < 3600.0


A, B = (SimpleNamespace(name=f"module.{name}", stamp=name * 64) for name in "ab")
CODE_OF = {"a": MachineCode(b"\0object\n of a", "a", "", "env", "a"), "b": MachineCode(b"of b", "b", "way in", "", "b")}


def code_of(kernel):
    return CODE_OF[kernel.stamp[0]]


@pytest.fixture
def place(tmp_path, monkeypatch, caplog):
    """Yield the folder of a cache from which nothing has been read."""
    monkeypatch.setattr(cache, "CACHES", tmp_path / "deep" / "centralpath")
    monkeypatch.setattr(cache, "_held", {})
    monkeypatch.setattr(cache, "_said", set())
    cache._places.cache_clear()
    caplog.set_level(logging.WARNING, logger="socp")
    yield cache.folder()
    cache._places.cache_clear()


def path_of(place, kernel):
    return place / cache._file_name(kernel)


def write_both():
    """Write two kernels to disk and forget that this process has written them."""
    for kernel in (A, B):
        cache.write(kernel, code_of(kernel))
    cache._held.clear()


def test_what_is_written_is_read(place, caplog):
    assert cache.read(A) is None and not place.exists()
    write_both()
    assert [cache.read(kernel) for kernel in (A, B, A)] == [code_of(A), code_of(B), code_of(A)]
    assert sorted(path.name for path in place.iterdir() if path.suffix == ".kernel") == [
        path_of(place, kernel).name for kernel in (A, B)
    ]
    assert path_of(place, A).stat().st_mode & 0o777 == (0o644 if os.name == "posix" else 0o666)
    assert not caplog.records


posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")


def of_another_owner(patch, is_foreign):
    stat_of = Path.stat

    def found(path, **options):
        status = stat_of(path, **options)
        return os.stat_result([12345 if k == 4 and is_foreign(path) else entry for k, entry in enumerate(status)])

    patch.setattr(cache.Path, "stat", found)


def replaced_by(make):
    def spoil(path, _):
        path.unlink()
        make(path)

    return spoil


def written(change):
    return lambda path, _: path.write_bytes(change(path.read_bytes()))


DAMAGE = {  # damage of a file
    "empty": written(lambda file: b""), "truncated": written(lambda file: file[: len(file) // 2]),
    "altered": written(lambda file: file[:-1] + bytes([file[-1] ^ 1])), "garbage": written(lambda file: b"garbage"),
    "of another kernel": written(lambda file: cache.encode(B, CODE_OF["b"])),
    "of another stamp": written(lambda file: cache.encode(SimpleNamespace(name=A.name, stamp="c" * 64), CODE_OF["a"])),
    "gigabytes": lambda path, _: os.truncate(path, 40 * 2**30),  # a sparse file takes no space
}  # fmt: skip
UNTRUSTED = {oct(mode): lambda path, _, mode=mode: path.chmod(mode) for mode in (0o666, 0o664, 0o646)}
UNTRUSTED["another owner"] = lambda path, patch: of_another_owner(patch, lambda other: other == path)
NONE = {"a folder": replaced_by(Path.mkdir), "a pipe": replaced_by(lambda path: os.mkfifo(path))}
FILES = {name: (spoil, "is damaged") for name, spoil in DAMAGE.items()}
if os.name == "posix":
    FILES |= {name: (spoil, "others may write it") for name, spoil in UNTRUSTED.items()}
    FILES |= {name: (spoil, "") for name, spoil in NONE.items()}


@pytest.mark.parametrize("name", FILES)
def test_what_is_no_file_of_a_kernel_is_compiled_anew(place, caplog, monkeypatch, name):
    """Damaged files are removed, large ones without reading; untrusted files stay until they are replaced."""
    spoil, words = FILES[name]
    write_both()
    path = path_of(place, A)
    content = path.read_bytes()
    tracemalloc.start()
    try:
        with monkeypatch.context() as patch:
            spoil(path, patch)
            assert cache.read(A) is None and os.path.lexists(path) == (name not in DAMAGE)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert words in caplog.text and len(caplog.records) == bool(words) and cache.read(B) == code_of(B)
    cache.write(A, code_of(A))
    assert cache.read(A) == code_of(A)
    if name == "a folder":
        assert "cannot be written" in caplog.text
    else:
        assert path.read_bytes() == content and cache.read(A) == code_of(A)


def test_a_file_of_another_version_is_damage(place, monkeypatch):
    write_both()
    file = path_of(place, A).read_bytes()
    monkeypatch.setattr(cache, "version", lambda: "another processor")
    assert cache.decode(A, file) is None


def fails(*arguments, **options):
    raise OSError(28, "No space left on device")


def homeless():
    raise RuntimeError("Could not determine home directory.")


def no_home(_, patch):
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        patch.delenv(name, raising=False)
    patch.setattr(cache.sys, "platform", "linux")
    patch.setattr(cache.Path, "home", homeless)
    patch.setattr(cache, "CACHES", cache._caches())
    assert cache.folder() is None


def a_file_at(path):
    shutil.rmtree(path)
    path.write_bytes(b"")


FOLDERS = {  # damage of the folder, and the message
    "a full disk": (lambda place, patch: patch.setattr(cache.tempfile, "mkstemp", fails), "No space left on device"),
    "a file that cannot be finished": (lambda place, patch: patch.setattr(cache.os, "replace", fails), "No space left"),
    "read-only": (lambda place, patch: patch.setattr(cache.os, "access", lambda _, mode: mode != os.W_OK), "read-only"),
    "a file": (lambda place, _: a_file_at(place), "cannot be written"),
    "a file above": (lambda place, _: a_file_at(place.parent), "cannot be written"),
    "no home": (no_home, "no home folder"),
    "another owner": (lambda place, patch: of_another_owner(patch, lambda path: path == place), "another user"),
    "another owner above": (
        lambda place, patch: of_another_owner(patch, lambda path: path == place.parent), "another user"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_where_nothing_can_be_written_kernels_are_kept_in_memory(place, caplog, monkeypatch, name):
    spoil, words = FOLDERS[name]
    write_both()
    before = path_of(place, A).read_bytes()
    spoil(place, monkeypatch)
    if name not in ("a full disk", "a file that cannot be finished", "read-only"):  # these leave the files intact
        assert cache.read(A) is None
    for code in (code_of(A), code_of(B)):
        cache.write(A, code)
        assert cache.read(A) == code
    assert len(caplog.records) == 1 and words in caplog.text and not list(place.glob("*.part"))
    monkeypatch.undo()
    assert not path_of(place, A).exists() or path_of(place, A).read_bytes() == before


def test_a_folder_that_is_deleted_comes_back(place, caplog):
    write_both()
    assert cache.read(A) == code_of(A)
    shutil.rmtree(place.parent)
    assert cache.read(A) is None
    cache.write(A, code_of(A))
    shutil.rmtree(place)
    assert cache.read(A) == code_of(A)  # from memory
    cache.write(A, code_of(A))
    assert path_of(place, A).exists() and not caplog.records


@pytest.mark.parametrize("platform, variable, below", [
    ("linux", "XDG_CACHE_HOME", ".cache"), ("darwin", "", "Library/Caches"), ("win32", "LOCALAPPDATA", "AppData/Local"),
])  # fmt: skip
def test_the_folder_is_that_of_the_system_and_a_relative_one_stays_where_it_was(
    tmp_path, monkeypatch, platform, variable, below
):
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.sys, "platform", platform)
    monkeypatch.setattr(cache.Path, "home", lambda: tmp_path)
    assert cache._caches() == tmp_path / below / "centralpath"
    monkeypatch.chdir(tmp_path)
    for name in filter(None, (variable, "NUMBA_CACHE_DIR")):
        monkeypatch.setenv(name, f"of {name}")
        assert cache._caches() == Path(os.getcwd()) / f"of {name}" / "centralpath"


@posix
def test_an_own_folder_that_others_may_write_is_closed(place):
    write_both()
    place.chmod(0o777)
    assert cache.read(A) == code_of(A) and place.stat().st_mode & 0o777 == 0o755


def test_what_was_not_finished_is_removed_a_day_later(place):
    write_both()
    with contextlib.suppress(FileNotFoundError):
        (place / cache.MARK).unlink()
    for name, age in (("old.part", cache.UNUSED + 10.0), ("young.part", 10.0)):
        (place / name).touch()
        os.utime(place / name, (time.time() - age,) * 2)
    cache.read(A)
    assert [path.name for path in place.glob("*.part")] == ["young.part"]


def test_other_versions_of_a_kernel_are_removed_a_month_later(place):
    write_both()
    for stamp, age in (("c", cache.UNUSED + 10.0), ("d", cache.UNUSED - 10.0)):
        other = path_of(place, SimpleNamespace(name=A.name, stamp=stamp * 64))
        other.touch()
        os.utime(other, (time.time() - age,) * 2)
    cache.write(A, code_of(A))
    assert {path.name[-27:-26] for path in place.glob("*.kernel")} == {"a", "b", "d"}


def test_kernels_with_checks_are_others(monkeypatch):
    plain = cache.version.__wrapped__()
    monkeypatch.setattr(cache, "CHECKS", not cache.CHECKS)
    assert cache.version.__wrapped__() != plain


@pytest.fixture
def brought(place, tmp_path, monkeypatch):
    """Yield the folder of a package that contains both kernels, compiled for the target "generic"."""
    folder = tmp_path / "package"
    monkeypatch.setattr(packaged, "FOLDER", folder)
    write_both()
    cache.package((A, B), folder, "generic")
    shutil.rmtree(place.parent)
    forget()
    yield folder
    packaged.made_for.cache_clear()


def forget():
    """Clear the memory of the cache, as if this were another process."""
    packaged.made_for.cache_clear()
    cache._places.cache_clear()


def test_kernels_of_the_package_are_read_without_a_cache(brought, place, caplog):
    assert [cache.read(kernel) for kernel in (A, B, A)] == [code_of(A), code_of(B), code_of(A)]
    assert not place.exists() and not caplog.records and cache.unsuited() == ""


def test_the_users_kernels_come_before_those_of_the_package(brought, place):
    cache.write(A, code_of(B))
    cache._held.clear()
    assert cache.read(A) == code_of(B) and cache.read(B) == code_of(B)


def test_a_kernel_that_the_package_lacks_is_compiled_alone(brought, place):
    path_of(brought, A).unlink()
    assert cache.read(A) is None and cache.read(B) == code_of(B)
    cache.write(A, code_of(A))
    cache._held.clear()
    assert cache.read(A) == code_of(A) and not path_of(brought, A).exists()


@pytest.mark.parametrize("name", ["empty", "truncated", "altered"])
def test_damage_in_the_package_is_left_there_and_made_up_for(brought, place, caplog, name):
    path = path_of(brought, A)
    DAMAGE[name](path, None)
    content = path.read_bytes()
    assert cache.read(A) is None and cache.read(B) == code_of(B)
    assert "is damaged" in caplog.text and path.read_bytes() == content
    cache.write(A, code_of(A))
    cache._held.clear()
    caplog.clear()
    assert cache.read(A) == code_of(A) and not caplog.records


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"processor": 3}', '{"processor": "x"}', '{"processor": "generic"}']
)
def test_a_package_that_does_not_say_what_it_is_for_is_not_used(brought, content):
    (brought / packaged.MADE_FOR).write_text(content)
    forget()
    assert cache.read(A) is None


def test_a_package_for_another_numba_is_not_used(brought, monkeypatch):
    monkeypatch.setattr(cache.numba, "__version__", "0.1")
    cache.version.cache_clear()
    forget()
    try:
        assert cache.read(A) is None
        assert "Python" in cache.unsuited() and "processor generic" in cache.unsuited()
    finally:
        cache.version.cache_clear()


def test_a_package_for_a_better_processor_is_not_used(place, tmp_path, monkeypatch):
    monkeypatch.setattr(packaged, "FOLDER", tmp_path / "package")
    write_both()
    cache.package((A, B), tmp_path / "package", "x86-64-v3")
    shutil.rmtree(place.parent)
    has = ",".join(f"+{name}" for name in packaged.X86_64_V3)
    for features, code in ((has, code_of(A)), (has.replace("+avx2", "-avx2"), None), ("", None)):
        processor = ("x86_64-unknown-linux-gnu", "some", features)
        monkeypatch.setattr(cache.target, "processor", lambda it=processor: it)
        made = json.loads((tmp_path / "package" / packaged.MADE_FOR).read_text())
        forget()
        monkeypatch.setattr(cache, "version", lambda baseline="", it=made: it["version"] if baseline else "own")
        assert cache.read(A) == code and bool(cache.unsuited()) == (code is None)
    packaged.made_for.cache_clear()


@posix
def test_a_package_that_its_group_may_write_is_as_good_as_its_source(brought):
    path_of(brought, A).chmod(0o664)
    brought.chmod(0o775)
    assert cache.read(A) == code_of(A)


def test_kernels_of_the_package_without_a_home(brought, monkeypatch):
    monkeypatch.setattr(cache, "CACHES", None)
    assert cache.read(A) == code_of(A)


def test_a_baseline_is_the_same_on_each_release_of_a_system(monkeypatch):
    names = []
    for release in ("21.6.0", "23.4.0"):
        processor = (f"arm64-apple-darwin{release}", "apple-m2", "+neon")
        monkeypatch.setattr(cache.target, "processor", lambda it=processor: it)
        names.append(cache.version.__wrapped__("apple-m1"))
    assert names[0] == names[1]
