# SPDX-License-Identifier: LGPL-2.1-or-later
"""Makes a history from a seed and a number: scenes that are likely to hurt, with noise between."""
import random

MANUAL = ("one", "two", "three")


def spoil(rng, program, level=1.0):
    """A cut, a kill or an error at some point of a program; often no fault."""
    kind = rng.random() / level
    where = "%s/%%%d" % (program, rng.randrange(100))
    if kind < 0.10:
        return " cut=" + where
    if kind < 0.14:
        return " kill=" + where
    if kind < 0.16:
        return " kill-all=" + where
    if kind < 0.18:
        return " %s=%s" % (rng.choice(["EIO", "ENOSPC", "EMFILE"]), where)
    return ""


class Generator:
    def __init__(self, seed, number, kinds):
        self.rng = random.Random("%s/%s" % (seed, number))
        rng = self.rng
        self.flavour = rng.choice(["shell", "shell", "rust", "none"])
        self.lines = ["fs " + rng.choice(kinds), "greenboot " + self.flavour]
        for setting, chance in (("on-rollback=if-failed", .1), ("on-rollback=never", .06), ("keep-good=1", .2),
                                ("retry-trial=no", .06), ("keep-bad=2", .1)):
            if rng.random() < chance:
                self.lines.append("set " + setting)
        self.calm = rng.random() < .35   # this history has no cuts or kills
        self.booted, self.known = "A", ["A"]
        if rng.random() < .05:
            self.lines.append("begin Z")
            self.booted, self.known = "Z", ["Z"]

    def say(self, line):
        self.lines.append(line)

    def chance(self, p):
        return self.rng.random() < p

    def spoil(self, program, level=1.0):
        return "" if self.calm else spoil(self.rng, program, level)

    def boot(self, verb="reboot", name="", extra="", spoilt=1.0):
        rng = self.rng
        if verb == "reboot" and self.chance(.12):
            verb = "powercut"
        line = verb + (" " + name if name else "") + extra
        line += self.spoil("prerun", spoilt)
        if "=" not in line and verb == "reboot":
            line += self.spoil("finalize", .7)
        if "=" not in line and self.chance(.3) and verb == "reboot":
            line += " explain"
        if "=" not in line and self.chance(.03):
            line += " skip"
        elif "=" not in line and self.chance(.04):
            line += " masked"
        elif "=" not in line and self.chance(.03):
            line += " full=" + rng.choice(["bytes", "inodes"])
        elif "=" not in line and self.chance(.02):
            line += " nolog"
        elif "=" not in line and self.chance(.01):
            line += " unreadable"
        elif "=" not in line and self.chance(.02):
            line += " copied"
        elif "=" not in line and self.chance(.03):
            line += " ask=" + rng.choice(["@1", "@2", "last-good", "undo"])
        self.say(line)
        if name:
            self.booted = name
        if "cut=prerun" in line or "cut=finalize" in line:
            self.boot("reboot", name, spoilt=.6)

    def write(self, p=.85):
        if self.chance(p):
            self.say("write %d" % self.rng.randint(1, 3))

    def judge(self, colour):
        if self.flavour == "none":
            if colour == "green" and self.chance(.3):
                self.say("mark good")
            return
        self.say(colour + self.spoil({"hang": "health"}.get(colour, colour), .6))

    def other(self, fresh=False):
        names = [n for n in ("A", "B", "C", "D") if n != self.booted and (not fresh or n not in self.known)]
        return self.rng.choice(names or [n for n in "ABCD" if n != self.booted])

    def update(self):
        """Another system, new or known, that turns out good or bad."""
        rng, old = self.rng, self.booted
        new = "Z" if self.chance(.06) else self.other(self.chance(.6))
        self.say("stage " + new)
        if self.chance(.3):
            self.write()
        if self.chance(.1):
            self.say("backup " + rng.choice(MANUAL))
        if self.chance(.08):
            self.say(rng.choice(["restore @1", "restore @2", "restore --last-good", "undo"]))
        if self.chance(.06):
            self.say("conf %s directory=/var/lib/greenboot-etcd/other" % new)
        brought = ""
        if self.chance(.06):
            self.say("conf %s data-dir=/var/lib/etcd-new" % new)
            brought = rng.choice(["", " moved", " moved", " copied", " linked"])
        self.boot("reboot", new, brought)
        self.known.append(new)
        self.write()
        fate = rng.random()
        if fate < .35:
            self.judge("green")
            self.write(.5)
            return
        for _ in range(rng.choice([0, 1, 1, 2])):
            self.judge(rng.choice(["red", "red", "hang"]))
            if self.chance(.15):
                self.noise()
            self.boot(rng.choice(["reboot", "reboot", "powercut"]), new)
            self.write()
        if fate < .45:
            self.say("weeks")
        self.judge(rng.choice(["red", "red", "red", "hang", "green"]))
        if fate < .85:
            if self.chance(.3):
                self.say("default " + old)
            self.boot(rng.choice(["reboot", "reboot", "powercut"]), old, spoilt=1.5)
            self.write()
            if self.chance(.6):
                self.judge("green")

    def back(self):
        """A return to a known system, deliberate or not."""
        name = self.rng.choice([n for n in self.known if n != self.booted] or [self.booted])
        if self.chance(.6):
            self.say("default " + name)
        self.boot("reboot", name)
        self.write()
        if self.chance(.6):
            self.judge(self.rng.choice(["green", "green", "red"]))

    def again(self):
        if self.chance(.1):
            self.say("weeks")
        self.boot("reboot", self.booted if self.chance(.5) else "")
        self.write()
        if self.chance(.7):
            self.judge(self.rng.choice(["green", "green", "green", "red", "hang"]))

    def noise(self):
        rng = self.rng
        name = rng.choice(("@1", "@1", "@2", "@3", "--last-good") + MANUAL)
        kind = rng.choice(["backup"] * 4 + ["restore"] * 3 + ["undo"] * 2 + ["delete"] * 2 + ["next-boot"] * 3 +
                          ["mark"] * 2 + ["pin", "unpin", "prune", "restart", "pin-os", "unpin-os", "undeploy",
                                          "clock", "set", "hostile", "hostile", "write", "cancel"])
        if kind == "backup":
            self.say("backup " + rng.choice(MANUAL) + self.spoil("backup"))
        elif kind in ("restore", "delete"):
            self.say("%s %s%s" % (kind, name if kind == "restore" else rng.choice(("@1", "@2", "@3") + MANUAL),
                                  self.spoil(kind, 1.5)))
        elif kind == "undo":
            self.say("undo" + self.spoil("undo", 1.5))
        elif kind == "next-boot":
            self.say("next-boot " + name + self.spoil("next-boot", .5))
            self.boot("reboot", self.booted if self.chance(.7) else "", spoilt=1.5)
            self.write()
        elif kind == "mark":
            self.say("mark %s%s" % (rng.choice(["good", "bad"]), rng.choice(["", " @1", " @2"])))
        elif kind in ("pin", "unpin"):
            self.say("%s @%d" % (kind, rng.randint(1, 3)))
        elif kind in ("pin-os", "unpin-os", "undeploy"):
            self.say("%s %s" % (kind, self.other()))
        elif kind == "clock":
            self.say("clock " + rng.choice(["1970", "-86400", "90000000"]))
        elif kind == "set":
            self.say("set on-rollback=" + rng.choice(["restore", "restore", "if-failed"]))
        elif kind == "hostile":
            self.say(rng.choice(["forge gone", "forge junk", "forge keep", "forge replay", "nest", "late"]))
        elif kind == "write":
            self.write(1)
        else:
            self.say(kind)

    def history(self):
        rng, aim = self.rng, 0
        self.say("reboot")
        self.write(1)
        if self.booted != "Z" and self.chance(.9):
            self.judge("green")
        aim = len(self.lines) + rng.randint(4, 36)
        while len(self.lines) < aim:
            rng.choice([self.update] * 5 + [self.back] * 3 + [self.again] * 3 + [self.noise] * 4)()
        return self.lines
