# SPDX-License-Identifier: LGPL-2.1-or-later
"""The writer of the data: a stand-in that makes small, sound databases and logs, or the real etcd.

The stand-in holds etcd's locks while it runs. Each write goes to the log and is synced at once. Every second write, and
the end, goes also to the database, so that the database is older than the log, as etcd's is. The health check asks a real
etcd with its own data, the device's voice.
"""
import fcntl
import hashlib
import json
import os
import random
import signal
import socket
import struct
import subprocess
import time

NODE, CLUSTER, PAGE = 0x2e1259d415f2a040, 0x48276a8f75b6a87, 4096
UID = 2379  # the unprivileged user that runs etcd

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82f63b78 if n & 1 else 0)
    TABLE.append(n)


def crc32c(crc, data):
    crc ^= 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xffffffff


# ---- protobuf, bbolt's pages, the log's frames ----

def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def leaf(rows, number, padded=True):
    """rows: (flags, key, value), sorted. A page of them may be longer than a page."""
    heads, body, at = b"", b"", 16 * len(rows)
    for i, (flags, key, value) in enumerate(rows):
        heads += struct.pack("<IIII", flags, at + len(body) - 16 * i, len(key), len(value))
        body += key + value
    page = heads + body
    overflow = (len(page) + 16 - 1) // PAGE if padded else 0
    page = struct.pack("<QHHI", number, 2, len(rows), overflow) + page
    return page.ljust((overflow + 1) * PAGE, b"\0") if padded else page


def database(rows, index, txid):
    member = b'{"id":%d,"peerURLs":["http://127.0.0.1:2380"],"name":"default"}' % NODE
    inline = {b"cluster": [(0, b"clusterVersion", b"3.4.0")],
              b"members": [(0, b"%x" % NODE, member)],
              b"meta": [(0, b"consistent_index", struct.pack(">Q", index))]}
    keys = leaf([(0, struct.pack(">Q", 2 + i) + b"_" + bytes(8),
                  field(1, key) + field(2, 2 + i) + field(3, 2 + i) + field(4, 1) + field(5, value))
                 for i, (key, value) in enumerate(rows)], 3)
    names = (b"alarm", b"auth", b"authRoles", b"authUsers", b"cluster", b"key", b"lease", b"members",
             b"members_removed", b"meta")
    root = leaf([(1, name, struct.pack("<QQ", 3, 0) if name == b"key" else
                  bytes(16) + leaf(inline.get(name, []), 0, False)) for name in names], 2)
    end = 3 + len(keys) // PAGE

    def meta(number, transaction):
        body = struct.pack("<IIIIQQQQQ", 0xED0CDAED, 2, PAGE, 0, 2, 0, 2 ** 64 - 1, end, transaction)
        checksum = 0xcbf29ce484222325
        for byte in body:
            checksum = (checksum ^ byte) * 0x100000001b3 & 2 ** 64 - 1
        return (struct.pack("<QHHI", number, 4, 0, 0) + body + struct.pack("<Q", checksum)).ljust(PAGE, b"\0")

    first = txid - txid % 2
    return meta(0, first) + meta(1, first + 1 if txid % 2 else first - 1) + root + keys


class Log:
    """The bytes of a write-ahead log."""

    def __init__(self):
        self.bytes, self.crc = b"", 0
        self.record(4, None)
        self.record(1, field(1, NODE) + field(2, CLUSTER))
        self.record(5, field(1, 0) + field(2, 0))
        self.entry(1, 1, field(1, 1) + field(2, 0) + field(3, NODE))

    def record(self, kind, data):
        if data is not None:
            self.crc = crc32c(self.crc, data)
        body = field(1, kind) + field(2, self.crc) + (field(3, data) if data is not None else b"")
        pad = -len(body) % 8
        head = len(body) | (0x80 | pad) << 56 if pad else len(body)
        self.bytes += struct.pack("<Q", head) + body + bytes(pad)

    def entry(self, index, kind, data):
        self.record(2, field(1, kind) + field(2, 1) + field(3, index) + field(4, data))
        self.record(3, field(1, 1) + field(2, NODE) + field(3, index))

    def copy(self):
        other = Log.__new__(Log)
        other.bytes, other.crc = self.bytes, self.crc
        return other


class StandIn:
    """Knows every state that it ever wrote by the digest of its files."""
    real = False

    def __init__(self, data):
        self.known, self.open = {}, []
        self.look_at(data)

    def look_at(self, data):
        self.data = data
        self.db = os.path.join(data, "member/snap/db")
        self.wal = os.path.join(data, "member/wal/%016x-%016x.wal" % (0, 0))

    def running(self):
        return bool(self.open)

    def state(self):
        with open(self.db, "rb") as db, open(self.wal, "rb") as wal:
            return hashlib.sha256(db.read() + wal.read()).digest()

    def start(self):
        """False: the stand-in does not start, because it did not write this data."""
        if not os.path.isdir(os.path.join(self.data, "member")):
            for path in ("", "member", "member/snap", "member/wal"):
                path = os.path.join(self.data, path)
                os.makedirs(path, exist_ok=True)
                os.chown(path, UID, UID)
                os.chmod(path, 0o700)
            self.rows, self.txid, self.log = [], 4, Log()
            self.store(True)
        else:
            try:
                rows, self.txid, log, self.behind = self.known[self.state()]
            except (KeyError, OSError):
                return False
            self.rows, self.log = list(rows), log.copy()
        self.open = [os.open(self.db, os.O_RDWR), os.open(self.wal, os.O_RDWR)]
        fcntl.flock(self.open[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.fcntl(self.open[1], 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
        return True

    def write(self, token):
        self.rows.append((b"history/%d" % len(self.rows), token.encode()))
        key, value = self.rows[-1]
        self.log.entry(1 + len(self.rows), 0, field(100, field(1, len(self.rows))) +
                       field(4, field(1, key) + field(2, value)))
        self.store(self.behind)

    def store(self, commits):
        files = [(self.wal, self.log.bytes)]
        if commits:
            self.txid += 1
            files.append((self.db, database(self.rows, 1 + len(self.rows), self.txid)))
        self.behind = not commits
        for path, data in files:
            new = not os.path.exists(path)
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            os.pwrite(fd, data, 0)
            os.fchown(fd, UID, UID)
            os.fsync(fd)
            os.close(fd)
            if new:
                up = os.path.dirname(path)
                while len(up) >= len(self.data) - 1:
                    fd = os.open(up, os.O_RDONLY)
                    os.fsync(fd)
                    os.close(fd)
                    up = os.path.dirname(up)
        self.known[self.state()] = list(self.rows), self.txid, self.log.copy(), self.behind

    def stop(self):
        """In order."""
        if self.open and self.behind:
            self.store(True)
        self.kill()

    def kill(self):
        for fd in self.open:
            os.close(fd)
        self.open = []


class Real:
    """The real etcd. As the device's etcd it is started for each run; as the voice it runs all the time."""
    real = True

    def __init__(self, data, log="/dev/null"):
        self.data, self.process, self.count = data, None, 0
        self.log = log
        self.ports()

    def look_at(self, data):
        self.data = data

    def ports(self):
        for number in random.SystemRandom().sample(range(10240, 20000, 2), 1000):
            self.lock = socket.socket(socket.AF_UNIX)
            try:
                self.lock.bind("\0greenboot-etcd-histories-%d" % number)
                for port in number, number + 1:
                    with socket.socket() as probe:
                        probe.bind(("127.0.0.1", port))
            except OSError:
                self.lock.close()
                continue
            self.url, self.peer = ("http://127.0.0.1:%d" % (number + n) for n in (0, 1))
            return
        raise AssertionError("no port is free")

    def speaks_for_stand_ins(self):
        """The data of the stand-ins gets the ids of this member and its cluster."""
        global NODE, CLUSTER
        answer = subprocess.run(["curl", "-s", "-d", "{}", self.url + "/v3/maintenance/status"], check=True,
                                stdout=subprocess.PIPE).stdout
        header = json.loads(answer)["header"]
        NODE, CLUSTER = int(header["member_id"]), int(header["cluster_id"])

    def running(self):
        return self.process is not None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                ["etcd", "--name=default", "--data-dir=" + self.data, "--listen-client-urls=" + self.url,
                 "--advertise-client-urls=" + self.url, "--listen-peer-urls=" + self.peer,
                 "--initial-advertise-peer-urls=" + self.peer, "--initial-cluster=default=" + self.peer,
                 "--heartbeat-interval=10", "--election-timeout=100"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.process.poll() is None:
            answer = subprocess.run(["curl", "-s", "-m", "2", self.url + "/health"], check=False,
                                    stdout=subprocess.PIPE).stdout
            if b'"true"' in answer:
                return True
            time.sleep(0.02)
        self.kill()
        return False

    def write(self, token):
        self.count += 1
        subprocess.run(["etcdctl", "--endpoints=" + self.url, "put", "history/%d" % self.count, token],
                       env=dict(os.environ, ETCDCTL_API="3"), check=True, stdout=subprocess.DEVNULL)

    def end(self, with_signal):
        if self.process is not None:
            self.process.send_signal(with_signal)
            self.process.wait()
            self.process = None

    def stop(self):
        self.end(signal.SIGTERM)

    def kill(self):
        self.end(signal.SIGKILL)
