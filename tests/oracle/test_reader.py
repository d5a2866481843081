"""The reader of traces, without which the comparisons would say nothing."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from support.sequences import by_file, compress, expand, in_order, without_random_offsets
from support.strace import read

HERE = Path("/t")


def lines(*calls: str) -> str:
    return "".join(f"1.{index:06} {call}\n" for index, call in enumerate(calls))


def words(*calls: str) -> list[str]:
    return [str(call) for call in read(lines(*calls), HERE)]


def test_paths_flags_and_sizes_are_kept_addresses_and_contents_are_not() -> None:
    assert words(
        'openat(AT_FDCWD</t>, "a", O_RDWR|O_CREAT|O_LARGEFILE, 0640) = 3</t/a>',
        'pwrite64(3</t/a>, ""..., 4096, 8192) = 4096',
        "lseek(3</t/a>, -8192, SEEK_CUR) = -1 EINVAL (Invalid argument)",
        'creat("/t/b", 0644) = 4</t/b>',
        'unlinkat(AT_FDCWD</t>, "d", AT_REMOVEDIR) = 0',
    ) == [
        "open a O_CREAT|O_RDWR",
        "pwrite64 a 4096 @8192",
        "lseek a -8192 SEEK_CUR EINVAL",
        "open b O_CREAT|O_TRUNC|O_WRONLY",
        "rmdir d",
    ]


def test_calls_on_other_files_are_left_out() -> None:
    assert not words(
        'write(1<pipe:[7]>, ""..., 5) = 5',
        'openat(AT_FDCWD</t>, "/proc/self/stat", O_RDONLY) = 3</proc/1/stat>',
        "close(9) = -1 EBADF (Bad file descriptor)",
    )


def test_a_short_move_is_marked() -> None:
    assert words('read(3</t/a>, ""..., 4096) = 100') == ["read a 4096 moved 100"]


def test_a_synced_part_of_a_mapping_has_an_offset_in_the_file() -> None:
    shared = "PROT_READ|PROT_WRITE, MAP_SHARED"
    assert words(
        f"mmap(NULL, 8192, {shared}, 3</t/a>, 0) = 0x7f0000000000",
        "msync(0x7f0000001000, 4096, MS_ASYNC) = 0",
        "msync(0x7f0000002000, 4096, MS_ASYNC) = 0",
    ) == [
        "mmap a 8192 PROT_READ|PROT_WRITE MAP_SHARED @0",
        "msync a 4096 MS_ASYNC @4096",
    ]


def test_inspections_that_move_nothing_are_left_out_and_others_are_not() -> None:
    opened = 'openat(AT_FDCWD</t>, "a", O_RDONLY|O_CLOEXEC) = 3</t/a>'
    closed = "close(3</t/a>) = 0"
    assert not words(opened, closed)
    assert words(opened, 'read(3</t/a>, ""..., 10) = 10', closed) == [
        "open a O_RDONLY",
        "read a 10",
        "close a",
    ]


def test_each_request_of_a_submit_is_a_call() -> None:
    request = (
        "{aio_data=0, aio_lio_opcode=IOCB_CMD_PREAD, aio_fildes=3</t/a>, aio_buf=0x7f, "
        "aio_nbytes=4096, aio_offset=8192}"
    )
    assert words(f"io_submit(0x7f, 2, [{request}, {request}]) = 2") == [
        "io_submit 2 of 2",
        "PREAD a 4096 @8192",
        "PREAD a 4096 @8192",
    ]


def test_names_become_numbers_within_their_directory() -> None:
    calls = read(lines('unlink("x/one") = 0', 'unlink("y/one") = 0', 'unlink("x/two") = 0'), HERE)
    assert in_order(calls) == ["unlink 1/1", "unlink 2/1", "unlink 1/2"]


def test_an_offset_that_continues_the_last_call_is_next() -> None:
    written = [f'pwrite64(3</t/a>, ""..., 8, {offset}) = 8' for offset in (0, 8, 24)]
    calls = read(lines(*written), HERE)
    assert in_order(calls) == ["pwrite64 1 8 @0", "pwrite64 1 8 @next", "pwrite64 1 8 @24"]


def test_calls_on_each_file_are_apart() -> None:
    calls = read(lines('unlink("b") = 0', "close(3</t/a>) = 0", "close(4</t/b>) = 0"), HERE)
    assert by_file(calls) == ["file:", "close", "file:", "unlink", "close"]


def test_drawn_offsets_are_random_if_they_are_whole_blocks() -> None:
    opened = 'openat(AT_FDCWD</t>, "a", O_RDWR) = 3</t/a>'
    moved = [f'pread64(3</t/a>, ""..., 8, {offset}) = 8' for offset in (16, 0, 12)]
    calls = read(lines(opened, *moved, "close(3</t/a>) = 0"), HERE)
    assert in_order(without_random_offsets(calls))[1:-1] == [
        "pread64 1 8 @random",
        "pread64 1 8 @random",
        "pread64 1 8 @12",
    ]


@given(st.lists(st.sampled_from(["open 1 O_RDWR", "read 1 4096", "lseek 1 0", "close 1"])))
def test_a_compressed_sequence_expands_to_itself(sequence: list[str]) -> None:
    assert expand(compress(sequence)) == sequence
