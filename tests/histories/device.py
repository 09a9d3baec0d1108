# SPDX-License-Identifier: LGPL-2.1-or-later
"""A played device: a file system on a loop device with power cuts, an ostree sysroot, GRUB, greenboot, and the real
programs with --root. The device plays events and answers questions. It does not judge.
"""
import ctypes
import fcntl
import hashlib
import json
import os
import re
import select
import shutil
import signal
import stat
import struct
import subprocess
import time
import uuid

import etcd

TOP = os.environ.get("TOP") or os.getcwd()
BUILD = os.environ.get("BUILD_FAULTS") or os.path.join(TOP, "build/default-faults")
HERE = os.path.dirname(os.path.abspath(__file__))
MASK = ".greenboot-etcd-owner"
WEEKS = 21 * 86400
LIMIT = 150  # seconds that any program may take, also on a busy machine
GOINGDOWN = 0x8004587d  # of XFS and ext4 alike
libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    arguments = [a.encode() if isinstance(a, str) else a for a in arguments]
    if getattr(libc, name)(*arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, "%s %s: %s" % (name, arguments, os.strerror(number)))


def mount_disk(device, target, kind):
    # Other workers have mounted copies of the same image.
    call("mount", device, target, kind, 1024, b"nouuid" if kind == "xfs" else b"")


def mount_loop(image, target, kind):
    """The loop device is removed automatically after its mount and the returned descriptor."""
    backing = os.open(image, os.O_RDWR)
    control = os.open("/dev/loop-control", os.O_RDWR)
    try:
        for _ in range(200):
            number = fcntl.ioctl(control, 0x4C82)
            try:
                if not os.path.exists("/dev/loop%d" % number):
                    os.mknod("/dev/loop%d" % number, 0o600 | stat.S_IFBLK, os.makedev(7, number))
                device = os.open("/dev/loop%d" % number, os.O_RDWR)
            except OSError:
                continue
            try:  # LOOP_CONFIGURE with LO_FLAGS_AUTOCLEAR
                fcntl.ioctl(device, 0x4C0A, bytearray(
                    struct.pack("<II52xI176x64x", backing, 0, 4)))
            except OSError:  # another process was faster
                os.close(device)
                time.sleep(0.01)
                continue
            mount_disk("/dev/loop%d" % number, target, kind)
            return device, "/dev/loop%d" % number
    finally:
        os.close(control)
        os.close(backing)
    raise OSError("no loop device is free")


def sync_fs(path):
    fd = os.open(path, os.O_RDONLY)
    libc.syncfs(fd)
    os.close(fd)


def digest(top):
    """Names, types, modes, owners, sizes, times and content of a tree, except the owner's mark."""
    whole = hashlib.sha256()

    def walk(directory, name):
        for entry in sorted(os.listdir(directory)):
            at = (name + "/" + entry) if name else entry
            if at == MASK or at.startswith(".gbe-tmp"):  # the latter: leftovers() decides
                continue
            status = os.stat(entry, dir_fd=directory, follow_symlinks=False)
            line = [at, stat.S_IFMT(status.st_mode), status.st_mode & 0o7777, status.st_uid, status.st_gid]
            if stat.S_ISREG(status.st_mode):
                # etcd writes the same files again from the same log.
                line += [status.st_size, not entry.endswith(("db", ".wal")) and status.st_mtime_ns]
                fd = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
                with os.fdopen(fd, "rb") as file:
                    line.append(hashlib.sha256(file.read()).hexdigest())
            whole.update(repr(line).encode())
            if stat.S_ISDIR(status.st_mode):
                fd = os.open(entry, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=directory)
                walk(fd, at)
                os.close(fd)

    try:
        fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        return None
    walk(fd, "")
    os.close(fd)
    return whole.hexdigest()[:12]


def leftovers(top):
    """Names of this program's temporary things, in a tree or a store."""
    found = []
    for at, directories, files in os.walk(top):
        found += [os.path.relpath(os.path.join(at, name), top) for name in directories + files
                  if re.match(r"\.(restore|staging|partial|pending|gbe-tmp)", name)]
    return found


def prepare(work, kind):
    """An image with a real sysroot in it, made once and copied for each history."""
    out = os.path.join(work, "prepared." + kind)
    root = os.path.join(out, "root")
    os.makedirs(root)
    image = os.path.join(out, "image")
    with open(image, "wb") as file:
        # The real etcd allocates 64 MB for each log.
        file.truncate((4096 if os.environ.get("ETCD") == "real" else 320 if kind == "xfs" else 128) << 20)
    subprocess.run(["mkfs.xfs", "-q", "-m", "reflink=1", image] if kind == "xfs" else
                   ["mkfs.ext4", "-q", "-F", "-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0", image],
                   check=True)
    fd, _ = mount_loop(image, root, kind)
    binds(out, root)
    subprocess.run([os.path.join(HERE, "prepare.sh"), root, out], check=True)
    unbind(root)
    call("umount2", root, 0)
    os.close(fd)
    return out


def binds(beside, root):
    for name in "boot", "proc", "run":
        os.makedirs(os.path.join(beside, "plain", name), exist_ok=True)
        os.makedirs(os.path.join(root, name), exist_ok=True)
        call("mount", os.path.join(beside, "plain", name), os.path.join(root, name), b"", 4096, b"")
    os.makedirs(os.path.join(root, "proc/sys/kernel/random"), exist_ok=True)


def unbind(root):
    for name in "boot", "proc", "run":
        call("umount2", os.path.join(root, name), 0)


class Ended(Exception):
    """The power was cut while a program ran."""


class TooLong(Exception):
    pass


class Device:
    def __init__(self, work, prepared, kind, flavour, voice, real):
        self.kind, self.flavour, self.voice = kind, flavour, voice
        self.work, self.prepared = work, prepared
        self.root, self.image = os.path.join(work, "root"), os.path.join(work, "image")
        os.makedirs(self.root)
        subprocess.run(["cp", "--sparse=always", os.path.join(prepared, "image"), self.image], check=True)
        shutil.copytree(os.path.join(prepared, "plain"), os.path.join(work, "plain"), symlinks=True)
        self.ids, self.links, self.entries = {}, {}, {}
        with open(os.path.join(prepared, "deployments"), encoding="ascii") as file:
            for name, self.ids[name], self.links[name] in map(str.split, file):
                with open(os.path.join(prepared, name + ".entry"), encoding="ascii") as entry:
                    self.entries[name] = entry.read()
        self.names = {value: key for key, value in self.ids.items()}
        self.fd, self.loop = mount_loop(self.image, self.root, kind)
        binds(work, self.root)
        self.data = self.before = os.path.join(self.root, "var/lib/etcd")  # and the place where etcd had it last, or root moved it
        self.stores = {os.path.join(self.root, "var/lib/greenboot-etcd/backups")}
        self.etcd = etcd.Real(self.data) if real else etcd.StandIn(self.data)
        self.endpoint = self.etcd if real else voice
        self.on, self.booted, self.run, self.staged = False, None, 0, None
        self.listing, self.born, self.pins = [], {}, set()
        self.clock = self.uptime = self.began = 0
        self.log, self.seen, self.held = "", {}, []
        for name in self.ids:
            self.remove_directory(name)
            self.born[name] = 0
        self.deploy("A", 0)
        self.greenboot()
        self.settings, self.conf = {}, {}
        self.configure()

    # ---- files, disk, power ----

    def path(self, *names):
        return os.path.join(self.root, *names)

    def put(self, path, text):
        path = self.path(path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def disk_cut(self):
        """Writes that were not flushed are lost."""
        self.etcd.kill()
        self.release()
        self.disk_dies()
        unbind(self.root)
        call("umount2", self.root, 0)
        mount_disk(self.loop, self.root, self.kind)
        binds(self.work, self.root)
        self.on = False

    def disk_dies(self):
        try:
            fd = os.open(self.root, os.O_RDONLY)
            fcntl.ioctl(fd, GOINGDOWN, struct.pack("<I", 2))  # no flush of the log
            os.close(fd)
        except OSError:
            pass  # it is dead already

    def power_cut(self):
        self.etcd.kill()
        self.disk_cut()

    # ---- changes of the data while etcd is down ----

    def move_wal(self, back=False):
        """Root moves the log to another directory. False: the log is missing, or the other place is taken."""
        if not back:
            self.wal_of = os.path.realpath(self.data)  # a restore may put another tree in a link's place
        places = [os.path.join(self.wal_of, "member/wal"), self.path("var/wal")]
        if back:
            places.reverse()
        if not os.path.isdir(places[0]) or not os.path.isdir(os.path.dirname(places[1])) or os.path.exists(places[1]):
            return False
        os.rename(*places)
        sync_fs(self.root)
        return True

    def bring_data(self, how):
        """copied: root copies the data to other inodes under the same name. Else an update moves the data to the directory of
        its own configuration. False: there is no data to move."""
        if not os.path.isdir(self.before) or os.path.islink(self.before) or self.data == self.before and how != "copied":
            return False
        if how == "copied":
            subprocess.run(["cp", "-a", self.before, self.data + ".copy"], check=True)
        self.clear_data()
        os.rename(self.data + ".copy" if how == "copied" else self.before, self.data)
        if how == "linked":
            os.symlink(os.path.basename(self.data), self.before)
        if how == "moved":  # also if no etcd starts on it
            self.before = self.data
        sync_fs(self.root)
        return True

    def clear_data(self):
        if os.path.islink(self.data):
            os.unlink(self.data)
        elif os.path.isdir(self.data):
            shutil.rmtree(self.data)

    def hide_data(self):
        """Replaces the data directory by a link for a moment, so that prerun cannot read the data. Returns the function that
        shows it again, or False if the data is missing."""
        hidden = self.data + ".hidden"
        if not os.path.isdir(self.data) or os.path.islink(self.data):
            return False
        os.rename(self.data, hidden)
        os.symlink(os.path.basename(hidden), self.data)
        sync_fs(self.root)

        def show():
            if os.path.islink(self.data):
                os.unlink(self.data)
                os.rename(hidden, self.data)
            else:
                shutil.rmtree(hidden)
            sync_fs(self.root)
        return show

    def fill(self, inodes):
        """Fills the file system. Returns the function that frees the space again."""
        top = self.path("var/filler")
        os.makedirs(top, exist_ok=True)
        step, count = 16 << 20, 0
        with open(os.path.join(top, "bytes"), "ab") as file:
            inodes = inodes and self.kind == "ext4"  # XFS makes inodes from free bytes
            try:
                while inodes:
                    os.close(os.open(os.path.join(top, "%d" % count), os.O_CREAT | os.O_WRONLY))
                    count += 1
            except OSError:
                pass
            while not inodes and step >= 4096:
                try:
                    os.posix_fallocate(file.fileno(), os.fstat(file.fileno()).st_size, step)
                except OSError:
                    step //= 2
        sync_fs(self.root)

        def drain():
            shutil.rmtree(top, ignore_errors=True)
            sync_fs(self.root)
        return drain

    def release(self):
        for fd in self.held:
            os.close(fd)
        self.held = []

    def close(self):
        self.etcd.kill()
        self.release()
        for name in "boot", "proc", "run", "":
            libc.umount2(os.path.join(self.root, name).rstrip("/").encode(), 2)
        os.close(self.fd)
        shutil.rmtree(self.work, ignore_errors=True)

    # ---- ostree: the boot entries are the list ----

    def directory(self, name):
        return self.path("ostree/deploy/fedora-iot/deploy", self.ids[name][len("fedora-iot-"):])

    def remove_directory(self, name):
        shutil.rmtree(self.directory(name), ignore_errors=True)
        if os.path.exists(self.directory(name) + ".origin"):
            os.unlink(self.directory(name) + ".origin")

    def make_directory(self, name):
        if not os.path.exists(self.directory(name)):
            subprocess.run(["cp", "-a", os.path.join(self.prepared, name) + "/.",
                            os.path.dirname(self.directory(name))], check=True)
            self.born[name] += 1
            sync_fs(self.root)

    def write_list(self):
        entries = self.path("boot/loader/entries")
        for name in os.listdir(entries):
            os.unlink(os.path.join(entries, name))
        for place, name in enumerate(self.listing):
            number = len(self.listing) - place
            self.put("boot/loader/entries/ostree-%d.conf" % number,
                     re.sub(r"(?m)^version .*", "version %d" % number, self.entries[name]))
        os.utime(self.path("ostree/deploy"))

    def deploy(self, name, place=0):
        self.make_directory(name)
        self.listing.insert(place, name)
        self.write_list()

    def stage(self, name):
        """Stages a deployment as ostree does. The next orderly shutdown adds it to the boot entries."""
        self.make_directory(name)
        shutil.copy(os.path.join(self.prepared, name + ".staged"), self.path("run/ostree/staged-deployment"))
        self.staged = name
        if self.flavour == "shell":
            self.grubenv(boot_counter="3", boot_success="0")

    def unstage(self):
        if self.staged and self.staged not in self.listing:
            self.remove_directory(self.staged)
        self.staged = None

    def undeploy(self, name):
        self.listing.remove(name)
        self.pins.discard(name)
        self.write_list()
        self.remove_directory(name)
        sync_fs(self.root)

    def pin(self, name, on):
        (self.pins.add if on else self.pins.discard)(name)
        with open(os.path.join(self.prepared, name, os.path.basename(self.directory(name)) + ".origin"),
                  encoding="ascii") as file:
            text = file.read()
        self.put(self.directory(name) + ".origin",
                 text + ("\n[libostree-transient]\npinned=true\n" if on else ""))
        sync_fs(self.root)

    def make_default(self, name):
        self.listing.remove(name)
        self.listing.insert(0, name)
        self.write_list()

    def has_program(self, name=None):
        return (name or self.booted) != "Z"

    # ---- configuration, GRUB's environment, both versions of greenboot ----

    def configure(self, **settings):
        self.settings.update(settings)
        groups = {"etcd": {"endpoint": self.endpoint.url}, "health": {"timeout": "10s"}}
        for key, value in {**self.settings, **self.conf.get(self.booted, {})}.items():
            group = "backup" if key in ("keep-good", "keep-bad", "at-boot", "at-shutdown", "directory") else "restore"
            if key == "directory":
                self.stores.add(self.root + value)
            if key == "data-dir":
                group = "etcd"
            groups.setdefault(group, {})[key] = value
        self.data = self.root + groups["etcd"].get("data-dir", "/var/lib/etcd")
        self.etcd.look_at(self.data)
        self.put("etc/greenboot-etcd/greenboot-etcd.conf", "".join(
            "[%s]\n%s\n" % (group, "".join("%s=%s\n" % pair for pair in keys.items()))
            for group, keys in groups.items()))
        sync_fs(self.root)

    def grubenv(self, **changes):
        """None removes a variable. The real block of 1024 bytes."""
        try:
            with open(self.path("boot/grub2/grubenv"), encoding="ascii") as file:
                lines = file.read().splitlines()[1:]
            values = dict(line.split("=", 1) for line in lines if line and line[0] != "#")
        except FileNotFoundError:
            values = {"boot_success": "1"}
        values.update(changes)
        values = {key: value for key, value in values.items() if value is not None}
        if changes:
            text = "# GRUB Environment Block\n" + "".join("%s=%s\n" % pair for pair in values.items())
            self.put("boot/grub2/grubenv", text.ljust(1024, "#"))
        return values

    def greenboot(self):
        units, libexec = "usr/lib/systemd/system/", "usr/libexec/greenboot/"
        self.put(units + "etcd.service", "[Service]\nExecStart=/usr/bin/etcd\n")
        self.put("usr/bin/etcd", "")  # in the deployment: no container has it
        self.grubenv(boot_success="1")
        if self.flavour == "none":
            return
        self.put("etc/greenboot/greenboot.conf", "GREENBOOT_MAX_BOOT_ATTEMPTS=3\n")
        for program in ["greenboot"] + (["redboot-auto-reboot"] if self.flavour == "shell" else []):
            self.put(libexec + program, "#!/bin/sh\nexit 0\n")
            os.chmod(self.path(libexec, program), 0o755)
        required = "boot-complete" if self.flavour == "shell" else "greenboot-success"
        verb = "check" if self.flavour == "shell" else "health-check"
        self.put(units + "greenboot-healthcheck.service",
                 "[Service]\nType=oneshot\nExecStart=/usr/libexec/greenboot/greenboot %s\n[Install]\n"
                 "RequiredBy=%s.target\nWantedBy=multi-user.target\n" % (verb, required))
        if self.flavour == "shell":
            self.put(units + "redboot.target", "[Unit]\nConflicts=boot-complete.target\n")
        else:
            self.put(units + "greenboot-set-rollback-trigger.service", "[Service]\nType=oneshot\n"
                     "ExecStop=/usr/libexec/greenboot/greenboot set-rollback-trigger\n")
        links = [("multi-user.target.wants", "greenboot-healthcheck"), (required + ".target.requires", "greenboot-healthcheck")]
        if self.flavour == "shell":
            links += [("ostree-finalize-staged.service.requires", "greenboot-grub2-set-counter"),
                      ("redboot.target.wants", "redboot-auto-reboot")]
            for unit in "greenboot-grub2-set-counter", "redboot-auto-reboot":
                self.put(units + unit + ".service", "[Service]\nType=oneshot\nExecStart=/usr/libexec/greenboot/%s\n" % unit)
        else:
            links += [("ostree-finalize-staged.service.requires", "greenboot-set-rollback-trigger")]
        for link, unit in links:
            os.makedirs(self.path("etc/systemd/system", link), exist_ok=True)
            os.symlink("/usr/lib/systemd/system/%s.service" % unit, self.path("etc/systemd/system", link, unit + ".service"))

    def checksum(self, name):
        return self.ids[name][len("fedora-iot-"):].split(".")[0]

    def grub_choice(self, look=False):
        """The deployment that GRUB boots, and counts down for; look: the deployment that it would boot next."""
        values = self.grubenv()
        counter, index = values.get("boot_counter"), 0
        if counter is not None and values.get("boot_success") != "1":
            if int(counter) <= 0:
                index = min(1, len(self.listing) - 1)
            if not look:
                self.grubenv(boot_counter="-1" if int(counter) <= 0 else str(int(counter) - 1))
        if not look:
            self.grubenv(boot_success="0")
        return self.listing[index]

    def is_ending(self):
        """Is the booted deployment counted down, or does another deployment boot next?"""
        values = self.grubenv()
        counter = values.get("boot_counter")
        if int(counter) >= 0 if counter is not None else \
                self.flavour == "rust" and values.get("greenboot_next_deployment_id"):
            return True
        following = self.grub_choice(look=True)
        if self.flavour == "shell" and counter == "-1":  # a fallback becomes the default
            following = self.booted
        return (self.staged or following) != self.booted

    def greenboot_ends(self):
        """Does the count end with this boot? explain then describes the boot after it."""
        counter = self.grubenv().get("boot_counter")
        return counter is not None and int(counter) <= 0

    def check_fallback(self):
        values = self.grubenv()
        if self.flavour == "shell" and values.get("boot_counter") == "-1":
            self.make_default(self.booted)
            self.grubenv(boot_counter=None)
        elif self.flavour == "rust":
            following = values.get("greenboot_next_deployment_id")
            if following and following != self.checksum(self.booted):
                self.make_default(self.booted)
                self.grubenv(greenboot_next_deployment_id=None)

    def after_red(self):
        counter = self.grubenv().get("boot_counter")
        if self.flavour == "rust":
            self.grubenv(boot_success="0")
            if counter is None:
                self.grubenv(boot_counter="3")
            elif int(counter) <= 0 and self.grubenv().get("greenboot_next_deployment_id") and \
                    len(self.listing) > 1:
                self.make_default(self.listing[1])
                self.grubenv(boot_counter=None, greenboot_next_deployment_id=None)

    # ---- programs ----

    def program(self, name, *arguments, fault=None):
        """Runs a program: its status, output and messages. fault: (action, point). A cut raises Ended after the power cut."""
        path = os.path.join(BUILD, name if name == "greenboot-etcd" else "hooks/" + name)
        environment = dict(os.environ, LC_ALL="C", LD_PRELOAD=os.path.join(self.prepared, "..", "clock.so"),
                           GBE_TEST_CLOCK=str(self.clock), GBE_TEST_UPTIME=str(self.uptime - self.began),
                           OSTREE_SYSROOT_DEBUG="mutable-deployments,test-staged-path")
        environment.pop("GREENBOOT_ETCD_FAULT", None)
        if self.tracing or fault:
            environment["GREENBOOT_ETCD_FAULT_TRACE"] = "1"
        action = fault[0] if fault else None
        if action:
            environment["GREENBOOT_ETCD_FAULT"] = "%s=%s" % (
                fault[1], "stop" if action in ("cut", "kill-all") else action)
        out = open(os.path.join(self.work, "out"), "w+b")
        err = open(os.path.join(self.work, "err"), "w+b")
        began = time.monotonic()
        with out, err:
            process = subprocess.Popen([path, "--root=" + self.root, *arguments], env=environment,
                                       stdin=subprocess.DEVNULL, stdout=out, stderr=err)
            hit = action in ("cut", "kill-all") and self.wait_stopped(process, action == "cut")
            ended = process.returncode is not None
            if not ended:
                pidfd = os.pidfd_open(process.pid)
                ended = select.select([pidfd], [], [], LIMIT)[0]
                os.close(pidfd)
            if not ended:
                for pid in self.family(process.pid):
                    os.kill(pid, signal.SIGKILL)
            status = process.wait()
            for file in out, err:
                file.seek(0)
            self.output = out.read().decode(errors="replace")
            self.words = err.read().decode(errors="replace")
        passed = re.findall(r"^fault-point (\S+) (\d+)$", self.words, re.M)
        self.hit = hit or bool(fault) and tuple(fault[1].split("@")) in passed
        self.words = re.sub(r"(?m)^fault-point .*\n", "", self.words)
        self.log += "$ %.3f s: %s %s%s -> %s\n%s%s" % (time.monotonic() - began, name, " ".join(arguments), " (%s %s)" % fault if fault else "",
                                             status, self.words, "" if "--json" in arguments else self.output)
        if not ended:
            raise TooLong("%s did not end within %d s" % (name, LIMIT))
        if self.tracing:
            self.tracing(name, passed)
        if hit and action == "cut":
            self.disk_cut()
            raise Ended()
        return status

    tracing, hit = None, False  # hit: the last program reached its fault point

    @staticmethod
    def family(pid):
        result = [pid]
        try:
            with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
                for child in file.read().split():
                    result += Device.family(int(child))
        except OSError:
            pass
        return result

    def wait_stopped(self, process, cut):
        """True: the program reached its fault point and was killed; with a cut, the disk stopped first."""
        deadline = time.monotonic() + LIMIT
        while process.poll() is None and time.monotonic() < deadline:
            for pid in self.family(process.pid):
                try:
                    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
                        stopped = file.read().rpartition(")")[2].split()[0] == "T"
                except OSError:
                    continue
                if stopped:
                    if cut:
                        self.disk_dies()
                    everybody = self.family(process.pid)
                    for one in everybody:
                        try:
                            os.kill(one, signal.SIGKILL)
                        except ProcessLookupError:
                            pass  # its parent ended it
                    process.wait()
                    for one in everybody[1:]:  # ours now: a worker is its orphans' reaper
                        try:
                            os.waitpid(one, 0)
                        except ChildProcessError:
                            pass
                    return True
            time.sleep(0.001)
        return False

    def json(self, *arguments):
        tracing, self.tracing = self.tracing, None
        status = self.program("greenboot-etcd", "--json", *arguments)
        self.tracing = tracing
        try:
            return status, json.loads(self.output)
        except ValueError:
            return status, None

    # ---- boot and shutdown ----

    def power_on(self, name, words=""):
        """A boot up to the start of prerun."""
        self.booted, self.on = name, True
        self.run += 1
        if self.conf:  # a deployment has an /etc of its own
            self.configure()
        self.uptime, self.began = 0, int(time.clock_gettime(time.CLOCK_BOOTTIME))
        run = self.path("run")
        for entry in os.listdir(run):
            path = os.path.join(run, entry)
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
        self.unstage()
        self.put("run/ostree-booted", "")
        os.makedirs(self.path("run/ostree"), exist_ok=True)
        self.put("proc/sys/kernel/random/boot_id", str(uuid.UUID(int=0xf00d << 96 | 4 << 76 | 8 << 60 | self.run)) + "\n")
        self.put("proc/cmdline", "BOOT_IMAGE=/vmlinuz rw ostree=%s %s\n" % (self.links[name], words))

    def finalize_staged(self):
        name, self.staged = self.staged, None
        if name:
            os.unlink(self.path("run/ostree/staged-deployment"))
            if name in self.listing:
                self.listing.remove(name)
            # ostree keeps the booted one, the rollback, and pinned ones.
            self.listing.insert(0, name)
            for other in self.listing[1:]:
                if other != self.booted and other not in self.pins and len(self.listing) > 4:
                    self.undeploy(other)
            self.write_list()

    def off(self):
        self.release()
        self.on = False
        sync_fs(self.root)

    # ---- the present state ----

    def content(self):
        return digest(self.data)

    def backups(self):
        """name -> entry of list, with the digest of its data; None if list failed."""
        status, entries = self.json("list")
        if status != 0 or not isinstance(entries, list):
            return None
        result = {}
        for entry in entries:
            tops = [os.path.join(store, entry["name"], "data") for store in self.stores]
            entry["content"] = next((digest(top) for top in tops if os.path.isdir(top)), None)
            entry["by"] = self.names.get(entry.get("deployment"), None)
            result[entry["name"]] = entry
        return result
