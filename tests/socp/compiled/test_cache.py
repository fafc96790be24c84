"""The cache of kernels: where it is, damaged files, folders that cannot be written, what is removed."""

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
    """The folder of a cache that nothing was read from so far."""
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
    """Two kernels on disk, as another process left them."""
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


@pytest.mark.parametrize("damage", [
    lambda file: b"", lambda file: b"garbage", lambda file: file[: len(file) // 2],
    lambda file: file[:-1] + bytes([file[-1] ^ 1]), lambda file: cache.encode(B, CODE_OF["b"]),
    lambda file: cache.encode(SimpleNamespace(name=A.name, stamp="c" * 64), CODE_OF["a"]),
], ids=["empty", "garbage", "truncated", "altered", "of another kernel", "of another stamp"])  # fmt: skip
def test_damage_is_removed(place, caplog, damage):
    write_both()
    path = path_of(place, A)
    path.write_bytes(damage(path.read_bytes()))
    assert cache.read(A) is None and not path.exists()
    assert "is damaged" in caplog.text and cache.read(B) == code_of(B)


def test_a_file_of_gigabytes_is_damage_that_is_not_read(place, caplog):
    write_both()
    path = path_of(place, A)
    content = path.read_bytes()
    with open(path, "r+b") as file:
        file.truncate(40 * 2**30)  # a hole in it takes no room
    tracemalloc.start()
    try:
        assert cache.read(A) is None and not path.exists()
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
    assert "is damaged" in caplog.text and cache.read(B) == code_of(B)
    cache.write(A, code_of(A))
    cache._held.clear()
    assert path.read_bytes() == content and cache.read(A) == code_of(A)


def test_a_file_of_another_version_is_damage(place, monkeypatch):
    write_both()
    file = path_of(place, A).read_bytes()
    monkeypatch.setattr(cache, "version", lambda: "another processor")
    assert cache.decode(A, file) is None


def full_disk(*arguments, **options):
    raise OSError(28, "No space left on device")


def test_on_a_full_disk_kernels_are_kept_in_memory(place, caplog, monkeypatch):
    monkeypatch.setattr(cache.tempfile, "mkstemp", full_disk)
    for kernel in (A, B):
        cache.write(kernel, code_of(kernel))
    assert [cache.read(kernel) for kernel in (A, B, A)] == [code_of(A), code_of(B), None]
    assert len(caplog.records) == 1 and "No space left on device" in caplog.text


def test_an_unfinished_file_is_removed(place, monkeypatch):
    monkeypatch.setattr(cache.os, "replace", full_disk)
    cache.write(A, code_of(A))
    assert not list(place.glob("*.part")) and cache.read(A) == code_of(A)


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


@pytest.mark.parametrize("where", [lambda place: place, lambda place: place.parent], ids=["version", "centralpath"])
def test_a_file_in_place_of_a_folder(place, caplog, where):
    where(place).parent.mkdir(parents=True)
    where(place).write_bytes(b"")
    assert cache.read(A) is None
    cache.write(A, code_of(A))
    assert cache.read(A) == code_of(A) and len(caplog.records) == 1 and "cannot be written" in caplog.text


def test_a_folder_in_place_of_a_file(place, caplog):
    (path_of(place, A) / "inside").mkdir(parents=True)
    assert cache.read(A) is None
    cache.write(A, code_of(A))
    assert cache.read(A) == code_of(A) and len(caplog.records) == 1 and "cannot be written" in caplog.text


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_in_place_of_a_file_does_not_block(place):
    place.mkdir(parents=True)
    os.mkfifo(path_of(place, A))
    assert cache.read(A) is None


def test_a_folder_that_is_only_read(place, caplog, monkeypatch):
    cache.write(A, code_of(A))
    cache._held.clear()
    monkeypatch.setattr(cache.os, "access", lambda path, mode: mode != os.W_OK)
    assert cache.read(A) == code_of(A) and not caplog.records
    for _ in range(2):
        cache.write(B, code_of(B))
        assert cache.read(B) == code_of(B)
    assert not path_of(place, B).exists() and len(caplog.records) == 1 and "read-only" in caplog.text


def test_a_relative_folder_stays_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "kernels")
    monkeypatch.chdir(tmp_path)
    assert cache._caches() == Path(os.getcwd()) / "kernels" / "centralpath"


def test_without_a_home_kernels_are_kept_in_memory(place, caplog, monkeypatch):
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(cache.sys, "platform", "linux")

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cache.Path, "home", homeless)
    monkeypatch.setattr(cache, "CACHES", cache._caches())
    assert cache.folder() is None and cache.read(A) is None
    cache.write(A, code_of(A))
    assert cache.read(A) == code_of(A) and len(caplog.records) == 1 and "no home folder" in caplog.text


posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes of POSIX")


@posix
@pytest.mark.parametrize("mode", [0o666, 0o664, 0o646])
def test_a_file_that_others_may_write_is_not_loaded(place, caplog, mode):
    write_both()
    path_of(place, A).chmod(mode)
    assert cache.read(A) is None and cache.read(B) == code_of(B)
    assert "others may write it" in caplog.text and path_of(place, A).exists()
    cache.write(A, code_of(A))
    cache._held.clear()
    assert cache.read(A) == code_of(A)


@posix
def test_a_file_of_another_owner_is_not_loaded(place, caplog, monkeypatch):
    write_both()
    stat_of = Path.stat

    def of_another(path, **options):
        found = stat_of(path, **options)
        is_kernel = path.suffix == ".kernel"
        return os.stat_result([12345 if k == 4 else entry for k, entry in enumerate(found)]) if is_kernel else found

    monkeypatch.setattr(cache.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(cache.Path, "stat", of_another)
    assert cache.read(A) is None and "belongs to another user" in caplog.text


@posix
@pytest.mark.parametrize("where", [lambda place: place, lambda place: place.parent], ids=["version", "centralpath"])
def test_a_folder_of_another_owner_is_not_used(place, caplog, monkeypatch, where):
    write_both()
    stat = Path.stat

    def of_another(path, **options):
        status = stat(path, **options)
        return os.stat_result([12345 if k == 4 and path == where(place) else e for k, e in enumerate(status)])

    monkeypatch.setattr(cache.Path, "stat", of_another)
    before = path_of(place, A).read_bytes()
    assert cache.read(A) is None and "belongs to another user" in caplog.text
    cache.write(A, code_of(B))
    assert cache.read(A) == code_of(B) and path_of(place, A).read_bytes() == before


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
    """The folder of a package that brought both kernels along, made for the processor with the fewest instructions."""
    folder = tmp_path / "package"
    monkeypatch.setattr(packaged, "FOLDER", folder)
    write_both()
    cache.package((A, B), folder, "generic")
    shutil.rmtree(place.parent)
    forget()
    yield folder
    packaged.made_for.cache_clear()


def forget():
    """As in another process."""
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


@pytest.mark.parametrize("damage", [
    lambda file: b"", lambda file: file[: len(file) // 2], lambda file: file[:-1] + bytes([file[-1] ^ 1]),
    pytest.param(
        lambda file: cache.encode(A, CODE_OF["a"]),
        marks=pytest.mark.skipif(os.environ.get("NUMBA_CPU_NAME") == "generic", reason="the package is for it"),
    ),
], ids=["empty", "truncated", "altered", "of this processor"])  # fmt: skip
def test_damage_in_the_package_is_left_there_and_made_up_for(brought, place, caplog, damage):
    path = path_of(brought, A)
    content = damage(path.read_bytes())
    path.write_bytes(content)
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
