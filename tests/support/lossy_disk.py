"""A disk that loses at a power cut what it was not told to keep, served to QEMU by this process.

A QEMU that is killed loses nothing that it has handed to the host's page cache, so an image file
shows no power cut. This disk answers a write at once and keeps it in memory; a flush, and a write
with FUA, make it last. At a cut each 4 KiB that was written since the last flush is on the disk or
is not, as drawn: a disk may write its cache in any order.

The protocol is NBD's fixed newstyle with simple replies
(https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md).
"""

import os
import socket
import struct
import threading
from pathlib import Path
from random import Random
from typing import Final

_GREETING: Final = struct.pack(">QQH", 0x4E42444D41474943, 0x49484156454F5054, 0b11)
"""Fixed newstyle, and no padding after the export's size."""
_OPTION: Final = struct.Struct(">QII")
_OPTION_REPLY: Final = struct.Struct(">QIII")
_OPTION_REPLY_MAGIC: Final = 0x3E889045565A9
_GO, _ABORT = 7, 2
_ACK, _INFO, _UNSUPPORTED = 1, 3, 2**31 + 1
_REQUEST: Final = struct.Struct(">IHHQQI")
_REPLY: Final = struct.Struct(">IIQ")
_REPLY_MAGIC: Final = 0x67446698
_READ, _WRITE, _DISCONNECT, _FLUSH = range(4)
_FUA: Final = 1
_HAS_FLUSH_AND_FUA: Final = 0b1101
_EINVAL: Final = 22
_SECTOR_BYTES: Final = 4096
_LEDGER: Final = b'{"change":'


class LossyDisk:
    """One disk over a file; one machine at a time has it."""

    def __init__(self, path: Path, moments: Random) -> None:
        """Open it.

        Args:
            path: the file with what lasts; its size is the disk's.
            moments: draws what a cut leaves.
        """
        self._file = os.open(path, os.O_RDWR)
        self._size_bytes = path.stat().st_size
        self._draws = moments
        self._cached: dict[int, bytes] = {}
        self._socket: socket.socket | None = None
        self._server = threading.Thread()
        self.lost = 0
        """Sectors that cuts have lost so far."""
        self.writes = 0
        self.synced = 0
        """How often the machine has synced a line of a ledger: a clock of what it changes."""

    def connect(self) -> socket.socket:
        """The machine's end of a new connection; the caller closes it when QEMU has it."""
        theirs, ours = socket.socketpair()
        self._socket = ours
        self._server = threading.Thread(target=self._serve, args=(ours,), daemon=True)
        self._server.start()
        return theirs

    def cut(self) -> None:
        """The power is gone: call it when the machine executes nothing any more."""
        self._disconnect()
        for sector, data in self._cached.items():
            if self._draws.random() < 0.5:
                os.pwrite(self._file, data, sector * _SECTOR_BYTES)
            else:
                self.lost += 1
        self._cached.clear()

    def close(self) -> None:
        """The disk is thrown away."""
        self._disconnect()
        os.close(self._file)

    def _disconnect(self) -> None:
        """What was sent and not read yet never arrived."""
        if self._socket is not None:
            self._socket.shutdown(socket.SHUT_RDWR)
            self._server.join()
            self._socket.close()
            self._socket = None

    def _serve(self, peer: socket.socket) -> None:
        """Until the connection ends, which ends it anywhere in a message."""
        try:
            self._negotiate(peer)
            while True:
                self._answer(peer)
        except (EOFError, OSError):
            return

    def _negotiate(self, peer: socket.socket) -> None:
        """Refuse every option but the one that begins."""
        peer.sendall(_GREETING)
        _received(peer, 4)
        while True:
            _, option, length = _OPTION.unpack(_received(peer, _OPTION.size))
            _received(peer, length)
            if option == _GO:
                # What is told of an export: kind 0, its size, what it can do.
                export = struct.pack(">HQH", 0, self._size_bytes, _HAS_FLUSH_AND_FUA)
                peer.sendall(_option_reply(option, _INFO, export) + _option_reply(option, _ACK))
                return
            peer.sendall(_option_reply(option, _ACK if option == _ABORT else _UNSUPPORTED))

    def _answer(self, peer: socket.socket) -> None:
        """One request."""
        _, flags, request, handle, offset, length = _REQUEST.unpack(_received(peer, _REQUEST.size))
        error, data = 0, b""
        if request == _READ:
            data = self._read(offset, length)
        elif request == _WRITE:
            self._write(offset, _received(peer, length))
            if flags & _FUA:
                self._keep()
        elif request == _FLUSH:
            self._keep()
        elif request == _DISCONNECT:
            raise EOFError
        else:
            error = _EINVAL
        peer.sendall(_REPLY.pack(_REPLY_MAGIC, error, handle) + data)

    def _read(self, offset: int, length: int) -> bytes:
        data = bytearray(os.pread(self._file, length, offset))
        for sector in range(offset // _SECTOR_BYTES, -(-(offset + length) // _SECTOR_BYTES)):
            if (cached := self._cached.get(sector)) is not None:
                at = sector * _SECTOR_BYTES - offset
                first = max(0, -at)
                data[at + first : at + _SECTOR_BYTES] = cached[first : length - at]
        return bytes(data)

    def _write(self, offset: int, data: bytes) -> None:
        """Into memory, by whole sectors."""
        self.writes += 1
        end = offset + len(data)
        first, last = offset // _SECTOR_BYTES, -(-end // _SECTOR_BYTES)
        start = first * _SECTOR_BYTES
        if offset % _SECTOR_BYTES or end % _SECTOR_BYTES:
            around = self._read(start, (last - first) * _SECTOR_BYTES)
            data = around[: offset - start] + data + around[end - start :]
        for number in range(last - first):
            at = number * _SECTOR_BYTES
            self._cached[first + number] = data[at : at + _SECTOR_BYTES]

    def _keep(self) -> None:
        """All that is in memory lasts from now on."""
        self.synced += any(_LEDGER in data for data in self._cached.values())
        for sector, data in self._cached.items():
            os.pwrite(self._file, data, sector * _SECTOR_BYTES)
        self._cached.clear()


def _option_reply(option: int, kind: int, data: bytes = b"") -> bytes:
    return _OPTION_REPLY.pack(_OPTION_REPLY_MAGIC, option, kind, len(data)) + data


def _received(peer: socket.socket, length: int) -> bytes:
    """Exactly so many bytes.

    Raises:
        EOFError: if the peer ends before.
    """
    data = bytearray()
    while len(data) < length:
        chunk = peer.recv(length - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return bytes(data)
