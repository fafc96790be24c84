"""The cache of kernels: where it is, damaged files, folders that cannot be written, what is removed."""

import os
import time

import pytest

from socp.compiled import cache, kernels
from tests.socp.compiled.test_kernels import CODE, files, run, write

pytestmark = pytest.mark.skipif(kernels.INTERPRETED, reason="nothing is compiled with NUMBA_DISABLE_JIT")


def in_cache(folder):
    return sorted((folder / "cache").glob("centralpath/*/*.kernel"))


@pytest.mark.full
@pytest.mark.parametrize("damage", [b"", b"garbage", None, "other"], ids=["empty", "garbage", "truncated", "altered"])
def test_a_damaged_file_is_thrown_away_and_made_anew(tmp_path, damage):
    write(tmp_path)
    run(CODE, tmp_path)
    for path in in_cache(tmp_path):
        content = path.read_bytes()
        if damage is None:
            path.write_bytes(content[: len(content) // 2])
        elif damage == "other":
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        else:
            path.write_bytes(damage)
    out = run(CODE, tmp_path)
    assert "answers 11.0 1.0" in out and out.count("is damaged") == 1
    out = run(CODE, tmp_path)
    assert "answers 11.0 1.0" in out and "damaged" not in out and "compiling" not in out


@pytest.mark.full
def test_a_file_of_another_version_is_not_looked_at(tmp_path):
    write(tmp_path)
    run(CODE, tmp_path)
    for path in in_cache(tmp_path):
        place = path.parent.parent / "python-2.7-numba-0.1-0000" / path.name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(b"of another version")
    assert "compiling" not in run(CODE, tmp_path)


@pytest.mark.full
def test_the_users_folder(tmp_path):
    write(tmp_path)
    run(CODE, tmp_path, {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(tmp_path / "users"), "HOME": str(tmp_path)})
    assert not (tmp_path / "cache").exists()
    if os.name == "posix" and os.uname().sysname == "Linux":
        assert list((tmp_path / "users").glob("centralpath/*/*.kernel"))
    assert not list(tmp_path.glob("*.nb[ic]")) and not list((tmp_path / "__pycache__").glob("*.nb[ic]"))


@pytest.mark.full
@pytest.mark.parametrize("environment", [{"CENTRALPATH_NO_CACHE": "1"}, {"NUMBA_CACHE_DIR": "/dev/null/nowhere"}])
def test_without_a_folder_it_works_and_leaves_nothing(tmp_path, environment):
    write(tmp_path)
    out = run(CODE, tmp_path, {**environment, "TMPDIR": str(tmp_path)})
    assert "answers 11.0 1.0" in out
    assert out.count("cannot be written") == ("NUMBA_CACHE_DIR" in environment)
    assert files(tmp_path) == {} and not list(tmp_path.glob("centralpath-*"))


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
