# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plays a history, event by event, on a device, and checks every promise after each event.

A history is lines of words. The first lines describe the device: `fs xfs`, `greenboot shell|rust|none`,
`set KEY=VALUE`, `begin Z` (a system without this program had the data first). Then come events:

    reboot [X] [WITH...]       orderly shutdown (finalize), then boot of X, or of GRUB's choice
    powercut [X] [WITH...]     a power cut, then the same
    write [N]                  etcd writes
    green, red, hang           greenboot's verdict; hang: the check ran without a verdict
    weeks                      the run continues for three weeks
    restart                    etcd's service is started again in this run
    stage X, default X, undeploy X, pin-os X, unpin-os X   ostree's deployments
    backup N, restore N, undo, delete N, mark good|bad [N], pin N, unpin N, prune, next-boot N, cancel   by hand
                               N is a name, @1 (the newest) or --last-good
                               etcd is stopped before verbs that need it stopped
    set KEY=VALUE, clock SECONDS|1970
    conf X KEY=VALUE           in the configuration of this deployment alone
    forge gone|junk|keep|replay
                               a hostile etcd user changes the owner's mark
    nest, names                the hostile user makes 70 nested directories, or 3,000 long names
    late, hold                 the hostile user writes a file after finalize, or locks the stopped database
                               until after the boot

WITH is a condition of the boot:

    skip, masked               greenboot-etcd.skip on the kernel command line; prerun is masked
    moved, linked              an update has moved the data to the data-dir of X's configuration; linked: and left a link
    copied                     root has replaced the data by a copy
    unreadable                 a link replaces the data directory while prerun runs
    nolog                      member/wal is elsewhere while prerun runs
    full=bytes|inodes          the disk is full while prerun runs
    ask=N                      greenboot-etcd.restore=N
    explain                    the boot must do as explain foretold
    lingers                    etcd needs some seconds to stop while finalize runs
    cut=PROGRAM/POINT          a power cut there
    kill=, kill-all=           the program is killed there; kill-all: its supervisor also
    EIO=, ENOSPC=, EMFILE=     a call fails there

POINT is a fault point, NAME@PASS, or %62: at about 62 percent of the program's usual points.
"""
import fcntl
import os
import re
import shutil
import threading
import time

import etcd
from device import Ended, WEEKS, leftovers, sync_fs
from oracle import Facts, World, by_hand, decide, interrupted, late, start

ACTIONS = ("cut", "kill", "kill-all", "EIO", "ENOSPC", "EMFILE")


TROUBLE = ("copied", "moved", "linked", "nolog", "unreadable")


class Violation(Exception):
    pass


def told_in_short(rule, actions):
    """The rule, the action that says most, and its backup, as in status."""
    for kind in "hold", "restore", "fresh", "backup", "keep", "stamp":
        for action in actions:
            if action["action"] == kind:
                return rule, kind, action["name"]
    return rule, None, None


class History:
    def __init__(self, device, points):
        self.device, self.points = device, points
        self.worlds, self.whole, self.parent, self.last = {World()}, {None}, {}, None
        self.backups, self.unsure, self.deleted = {}, False, set()
        self.were_green = set()
        self.unfinished, self.own_run, self.foreign, self.foreign_long = {}, False, False, False
        self.weeks = self.late = False
        self.asked = None
        self.foretold = None
        self.resolved = []   # the events in the form that can be replayed
        self.told = []

    # ---- the known facts ----

    def me(self, name=None):
        name = name or self.device.booted
        return "%s#%d" % (name, self.device.born[name])

    def saw(self):
        content = self.device.content()
        if content not in self.whole:
            self.whole.add(content)
            self.parent[content] = self.last
        self.last = content
        return content

    def grew(self, content, ancestor):
        while content is not None and content != ancestor:
            content = self.parent.get(content)
        return content == ancestor

    def need(self, truth, sentence):
        if not truth:
            raise Violation(sentence)

    def change(self, function):
        """Worlds that follow from each world: function gives one or several."""
        result = set()
        for world in self.worlds:
            following = function(world)
            result.update([following] if isinstance(following, World) else following)
        self.worlds = result

    def spot(self, event, program):
        """(action, point) where the event has a fault for this program."""
        for action in ACTIONS:
            where = event.get(action, "")
            if where.startswith(program + "/"):
                point = where.split("/", 1)[1]
                if point[0] == "%":
                    kind = program
                    if program == "prerun":
                        kind = "prerun restore" if any(one.restored for w in self.worlds for one in
                                                       decide(self.facts(event), w)) else "prerun stay"
                    known = self.points.get(kind) or self.points.get(program) or ["none@1"]
                    point = known[int(point[1:]) * len(known) // 100]
                    event[action] = program + "/" + point
                return action, point
        return None

    # ---- checks after each event ----

    def look(self, settled=True):
        """Every backup is unchanged and was whole, no valuable data is lost, and no temporary file is left."""
        new, old = self.device.backups(), self.backups
        self.need(new is not None, "list cannot answer")
        for name, entry in new.items():
            content = entry["content"]
            if entry.get("consumed"):
                continue
            self.need(content is not None, "%s is listed without data" % name)
            self.need(content in self.whole, "backup %s is listed and holds a tree that never was whole" % name)
            if name in old and old[name]["content"] is not None:
                self.need(content == old[name]["content"], "backup %s has changed" % name)
                self.need(old[name]["grade"] != "good" or entry["grade"] == "good" or self.marked,
                          "backup %s was good and is graded %s" % (name, entry["grade"]))
        if not self.by_person and not self.marked:
            self.floor(old, new)
        if settled:
            trees = [self.device.path("var/lib")]
            # The store of another deployment's configuration is cleaned up when that boots.
            foreign = "/backups/" if "directory" in self.device.conf.get(self.device.booted, {}) else "/other/"
            found = [name for tree in trees for name in leftovers(tree) if foreign not in name]
            self.need(not found, "left lying about: %s" % ", ".join(found))
        self.backups, self.stale = new, False
        self.marked = self.by_person = False

    marked = by_person = masked = stale = faulty = hostile = forged = skipping = False
    unflushed = logless = frozenset()
    status = None

    def floor(self, old, new):
        def valid(entries, by=None, grades=("good", "unproven")):
            return [n for n, e in entries.items() if e["grade"] in grades and by in (None, e["by"]) and not e.get("consumed") and
                    e["content"] not in self.logless]

        self.need(valid(new) or not valid(old), "the last valid backup is gone")
        for name in self.device.listing:
            # Backups of an earlier deployment of the same name are removed at the same time.
            if self.me(name) in self.were_green and self.device.born[name] <= 1:
                self.need(valid(new, name) or not valid(old, name), "the last valid backup of %s is gone" % name)
                self.need(valid(new, name, ("good",)) or not valid(old, name, ("good",)),
                          "the last good backup of %s is gone" % name)

    def bases_are_kept(self):
        if self.unsure or self.hostile or self.device.settings.get("at-boot") == "never":
            return
        have = {entry["content"] for entry in self.backups.values()} | self.deleted
        for world in self.worlds:
            wanted = [link[1] for link in world.chain[:1]] if not world.lost_line and world.on_trial(world.owner) else []
            if all(content in have for content in wanted):
                return
        raise Violation("the backup of what a trial's base had is gone: it could not come back")

    # ---- prerun ----

    def facts(self, event):
        device, name = self.device, self.device.booted
        following = device.grubenv().get("greenboot_next_deployment_id")
        default = device.listing[0] == name
        asked = event.get("ask")
        return Facts(
            now=self.last, name=self.me(), default=default,
            chosen=default and not (device.flavour == "rust" and following and
                                    following != device.checksum(name)),
            backups=self.backups, grew=self.grew, skip="skip" in event,
            on_rollback=device.settings.get("on-rollback", "restore"),
            retry=device.settings.get("retry-trial", "yes") == "yes" and device.is_ending(),
            request=asked if asked and asked != self.asked else None, open_elsewhere=bool(device.held),
            unfinished=self.unfinished.get(self.me(), 0), foreign=self.foreign, foreign_long=self.foreign_long or self.foreign and device.clock != 0,
            clones=device.kind == "xfs", no_log="nolog" in event, full="full" in event, copied=self.forged,
            moved_store=bool(device.conf), damaged=self.logless, behind_link=os.path.islink(device.data),
            moved_data=any("data-dir" in keys for keys in device.conf.values()),
            switched=device.data != device.before and not {"copied", "moved", "linked"} & set(event))

    def start(self, event):
        """Runs prerun, also if it fails. True: etcd starts."""
        device, before, same = self.device, self.saw(), self.own_run
        told, self.foretold = self.foretold, None
        if self.masked:
            return True
        if self.stale:
            self.look(settled=False)
        facts, fault = self.facts(event), self.spot(event, "prerun")
        facts.unreadable = self.hostile

        # The oracle does not foresee a process that has the data open until then.
        asked = self.ask() if same is False and not fault and not device.held and \
            not set(event) & {"skip", "ask"} else None

        def ends(world):
            if same is True:
                return [type(one)("the same run continues", before, world) for one in start(facts, world)[:1]]
            return start(facts, world) + ([one for one in interrupted(facts, world)] if same is None else [])

        try:
            status = device.program("prerun", fault=fault)
        except Ended:
            status = None
        killed = device.hit and fault[0] in ("kill", "kill-all")
        self.agrees(asked, status)
        facts.fuzzy = device.hit and fault[0] not in ("cut", "kill", "kill-all")
        self.unsure = self.unsure or facts.fuzzy
        after = device.content()
        self.need(status in (None, 0, 5) or killed and status == -9,
                  "prerun ended with %s: %s" % (status, device.words[-300:]))
        if status is None or killed:
            allowed = [one for world in self.worlds for one in interrupted(facts, world)] if same is not True \
                else [one for world in self.worlds for one in ends(world)]
            self.unfinished[self.me()] = self.unfinished.get(self.me(), 0) + 1
            self.own_run = None  # the oracle cannot know
            if killed:  # a power cut takes back what was not flushed
                self.unflushed |= self.worlds
        else:
            allowed = [one for world in self.worlds for one in ends(world) if one.held == (status == 5)]
            self.need(status == 0 or allowed or facts.unfinished or same is None,
                      "prerun holds etcd back: %s" % device.words.strip()[-400:])
            if status == 5 and not allowed:
                allowed = [one for world in self.worlds for one in interrupted(facts, world)]
            self.unfinished = {}
            self.unflushed = frozenset()
            # A failed call may have kept the take-over from being written, so the oracle cannot know.
            self.own_run = status == 0 and (None if facts.fuzzy or facts.behind_link else True)
        seen = [one for one in allowed if one.content in (None, after) or status == 5 and after == before]
        if not seen:
            raise Violation("%s: %s boots and etcd gets %s; allowed: %s" % (
                self.rule() or "prerun", device.booted, self.called(after),
                " or ".join(sorted({"%s (%s)" % (self.called(one.content), one.why) for one in allowed}))))
        self.told += sorted({one.why for one in seen})
        self.worlds = {one.world for one in seen}
        restored = status == 0 and not killed and after != before
        self.last = after
        self.need(after in self.whole, "the data directory holds a tree that never was whole")
        if status is None:
            self.stale = True
            return False
        if status == 0 and not killed:
            self.foreign = self.foreign_long = self.forged = False
            self.asked = event.get("ask")
        self.by_person = self.by_person or facts.full  # removed to make room for a restore
        if status == 0 and not killed and (facts.full or facts.behind_link):  # it may have been removed for that, or a link was displaced
            self.change(lambda world: world.but(displaced="?"))
        self.unsure = self.unsure or facts.full and device.flavour == "none"  # an update starts without a backup
        self.look(settled=not killed and status == 0 and not facts.fuzzy)
        if status == 0 and not killed:
            have = {entry["content"] for entry in self.backups.values()}
            if restored and before is not None and not self.unsure and not facts.full and not facts.behind_link:
                self.need(before in have or all(w.displaced != before for w in self.worlds),
                          "a restore displaced %s, and no backup has it" % self.called(before))
            self.bases_are_kept()
            self.as_foretold(told, event, before, after)
        return status == 0

    def ask(self):
        """The answer of explain on this start. The answer of status on the next start must be the same."""
        device, me = self.device, self.device.ids[self.device.booted]
        shown, told = device.json("status")[1], device.json("explain", "--booted=" + me)[1]
        self.need(shown and told, "status or explain has no answer")
        if shown["next"]["action"] is not None:
            other = told if shown["next"]["deployment"] == me else device.json("explain")[1]
            answer = told_in_short(other["rule"], other["actions"])
            said = tuple(shown["next"][key] for key in ("rule", "action", "backup"))
            self.need(said == answer, "status says %s, and explain %s" % (said, answer))
        return told



    def agrees(self, told, status):
        """prerun decides as explain said: the first decision, and one of the branches after each backup that fails."""
        rules = re.findall(r"Decided by rule ([^:]*):", self.device.words)
        if not told or not rules or self.device.greenboot_ends():
            return
        answers = [(told["rule"], told["actions"])] + [(one["rule"], one["actions"]) for one in told["branches"]]
        self.need(rules == [rule for rule, _ in answers[:len(rules)]],
                  "explain says rule %s, and prerun decides by %s" % ([rule for rule, _ in answers], rules))
        short = told_in_short(*answers[len(rules) - 1])
        self.need((short[1] == "hold") == (status == 5), "explain says %s, and prerun ends with %s: %s" % (
            short, status, self.device.words.strip()[-300:]))

    def rule(self):
        found = re.search(r"Decided by rule ([^:]*):", self.device.words)
        return "by rule " + found.group(1) if found else None

    def called(self, content):
        """A content in words: its writer."""
        return self.names.get(content, "no data" if content is None else content)

    names = {}

    def as_foretold(self, told, event, before, after):
        if not told or told[0] != self.device.booted or self.device.conf or \
                set(event) & (set(ACTIONS) | {"skip", "ask", "late", "full", *TROUBLE}):
            return
        rule = re.search(r"Decided by rule ([^:]*):", self.device.words)
        name = [action["name"] for action in told[1]["actions"] if action["action"] == "restore"]
        content = (self.foretold_backups.get(name[0]) or {}).get("content") if name else before
        # Without its log, a backup does not validate: explain has a branch for this case.
        self.need(content is None or content in self.logless or after == content, "explain foretold %s (rule %s), but etcd gets %s (rule %s)" % (
            "a restore of " + name[0] if name else "that the data stays", told[1]["rule"], self.called(after),
            rule and rule.group(1)))

    # ---- a boot, and the ways down ----

    def down(self, event):
        """An orderly shutdown."""
        device = self.device
        if not device.on:
            return True
        stops = threading.Timer(2.5, device.etcd.kill)  # in a scope that stops while finalize runs
        prior = self.saw()
        if "lingers" in event and not device.etcd.real:
            stops.start()
        else:
            device.etcd.stop()
        before = self.saw()
        self.foreign = self.foreign or self.own_run is False and before != prior
        self.names.setdefault(before, "what %s left" % device.booted)
        following = device.staged or device.grub_choice(look=True)
        chosen = self.me(device.staged or device.listing[0])  # GRUB's fallback is no update
        if device.has_program():
            fault = self.spot(event, "finalize")
            try:
                status = device.program("finalize", fault=fault)
            except Ended:
                status = None
            if stops.is_alive():
                stops.join()
            fault = fault if device.hit else None
            after = device.content()
            me = self.me()
            self.is_recorded(self.foreign and not fault and status == 0 and device.clock == 0 and
                             all(world.closed for world in self.worlds),
                             fault and status in (0, 1) and fault[1].startswith("booted-looked@"))

            def closed(world):
                if world.owner != me or self.own_run is False:
                    return [world] if after == before else []
                result, used = [], world.used
                if self.weeks:
                    used = "long"
                if after == world.base != before:  # given back to the old system
                    return [world.but(owner=None, closed=None)] if following == "Z" and world.failed() else []
                # The timer that also records it is not played. A closing record counts only with its nonce, and a
                # boot with skip makes no closing record.
                if self.weeks and (self.unsure or self.forged or self.skipping):
                    result.append(world.but(closed=after, following=chosen, used="unknown"))
                done = world.but(closed=after, following=chosen, used=used,
                                 long=world.long | ({me} if self.weeks else set()))
                # The closing record is missing, or the nonce after a failed call. Later starts cannot determine who
                # wrote.
                if self.skipping or self.forged or self.unsure:
                    result.append(done.but(closed=None))
                if after == before:
                    result.append(done)
                    if after == world.base and following == "Z" and world.failed():  # nothing was written
                        result.append(world.but(owner=None, closed=None))
                if fault or status != 0 or self.own_run is None:
                    result += [world.but(used="unknown" if self.weeks or device.clock else used), world]
                return [two for one in result for two in self.matured(one)]

            self.change(closed)
            self.need(self.worlds, "finalize left %s in place of %s" % (self.called(after), self.called(before)))
            self.last = after
            self.weeks = False
            if status is None:
                device.etcd.kill()
                return False
            if status != 0 and not fault:
                self.need(status == 1 and (self.hostile or os.path.islink(device.data)), "finalize ended with %s: %s" % (status, device.words[-300:]))
            self.stale = True
        self.weeks = False
        if device.flavour == "rust" and device.staged:
            device.grubenv(greenboot_next_deployment_id=device.checksum(device.staged), fallback="1")
        if stops.is_alive():
            stops.join()
        device.finalize_staged()
        if self.late:
            self.hostile_file("member/late-%d" % len(self.told))
            self.saw()
        if "hold" in event:
            fd = os.open(os.path.join(device.data, "member/snap/db"), os.O_RDWR)
            fcntl.flock(fd, fcntl.LOCK_EX)
        if "explain" in event and device.has_program() and not self.late:
            name = event.get("X") if event.get("X") in device.listing else device.listing[0]
            status, answer = device.json("explain", "--booted=" + device.ids[name])
            self.need(status == 0 and answer, "explain ended with %s" % status)
            self.foretold = name, answer
            self.foretold_backups = device.backups()
        device.off()
        if "hold" in event:
            device.held = [fd]
        self.late = False
        return True

    def matured(self, world):
        """A trial without a verdict ends when it was used for long."""
        if not world.on_trial(world.owner) or world.judged or world.used == "short":
            return [world]
        over = world.but(accepted=world.accepted | {world.owner})
        if world.used == "long" and self.device.flavour == "none":
            return [over]
        return [world, over]

    def power_cut(self):
        device = self.device
        if device.on:
            device.power_cut()
        self.saw()
        if device.clock and not self.weeks:  # files' times are the machine's
            self.change(lambda world: [world] + self.matured(world.but(used="unknown"))
                        if world.used == "short" and world.closed is None else world)
        if self.weeks:
            me = self.me()
            self.change(lambda world: [two for one in (world.but(used="unknown", long=world.long | {me}), world)
                                       for two in self.matured(one)])
        self.weeks = self.late = False

    def boot(self, event):
        device = self.device
        name = event.get("X")
        chosen = device.grub_choice()
        name = name if name in device.listing else chosen
        event["X"] = name
        asked = event.get("ask", "")
        if asked.startswith("@"):
            asked = event["ask"] = self.name_of(asked) or "no-such-backup"
        if not asked:
            self.asked = None
        self.skipping = "skip" in event
        device.power_on(name, " ".join(["greenboot-etcd.skip"] * ("skip" in event) +
                                       (["greenboot-etcd.restore=" + asked] if asked else [])))
        self.own_run = False
        runs, self.masked = True, "masked" in event
        for how in "copied", "moved", "linked":
            if how in event and not device.bring_data(how):
                del event[how]
            self.forged = self.forged or how == "copied" and how in event  # its mark does not count
        if device.has_program() and not self.masked:
            runs = self.with_trouble(event)
            if not device.on:
                return
        else:
            self.saw()
            self.foretold = None
        device.check_fallback()
        device.release()
        if runs:
            self.etcd_starts()

    def with_trouble(self, event):
        """start(), while the log is elsewhere or the disk is full."""
        device, drain = self.device, None
        if "nolog" in event and not device.move_wal():
            del event["nolog"]
        if "nolog" in event:
            self.logless |= {self.saw()}
        if "full" in event:
            drain = device.fill(event["full"] == "inodes")
        show = "unreadable" in event and device.hide_data()
        if not show:
            event.pop("unreadable", None)
        runs = self.start(event)
        if drain:
            drain()
        if show and device.on:
            show()
        if "nolog" in event and not device.move_wal(back=True):
            shutil.rmtree(device.path("var/wal"))
        self.saw()
        return runs

    def etcd_starts(self):
        self.need(self.device.etcd.start(), "etcd finds a tree that no etcd left like that")
        self.device.before = self.device.data
        self.foreign = self.foreign or self.own_run is False and self.device.content() != self.last
        if self.own_run is not False:
            self.change(lambda world: world.but(opened=True))

    # ---- events ----

    def do(self, line):
        """Plays one event. An event that is impossible now is skipped."""
        words = line.split()
        verb, event = words[0], {}
        for word in words[1:]:
            key, _, value = word.partition("=")
            if verb in ("reboot", "powercut") and re.fullmatch("[A-Z]", word):
                event["X"] = word
            elif key in ACTIONS + ("skip", "masked", "explain", "ask", "hold", "lingers", "full", *TROUBLE):
                event[key] = value
            else:
                event.setdefault("words", []).append(word)
        self.verb = verb
        method = getattr(self, "on_" + verb.replace("-", "_"), None)
        if method is None:
            raise ValueError("no such event: " + line)
        if verb not in ("reboot", "powercut", "clock") and not self.device.on:
            return False
        done = method(event, *event.get("words", [])) is not False
        text = [verb] + ([event["X"]] if "X" in event else []) + event.get("words", [])
        text += [key + ("=" + value if value else "") for key, value in event.items() if key not in ("X", "words")]
        if done:
            self.resolved.append(" ".join(text))
        return done

    def on_reboot(self, event):
        if self.down(event):
            self.boot(event)

    def on_powercut(self, event):
        self.worlds |= self.unflushed
        self.power_cut()
        self.boot(event)

    def on_write(self, event, count="1"):
        if not self.device.etcd.running():
            return False
        before = self.saw()
        for _ in range(int(count)):
            self.device.etcd.write("%s-%d" % (self.device.booted, len(self.whole)))
        if not self.device.etcd.real:
            content = self.saw()
            self.names[content] = "%s's write %d" % (self.device.booted, len(self.whole))
        if self.own_run is False:
            self.foreign = self.foreign or self.last != before or self.device.etcd.real
        return True

    def on_weeks(self, event):
        self.device.clock += WEEKS
        self.device.uptime += WEEKS
        self.weeks = True
        if self.foreign:
            self.foreign_long = True

    def verdict(self, event, name, *programs):
        """The hooks run. Their verdict holds for the run's own data."""
        device, me = self.device, self.me()
        if device.flavour == "none" and name != "mark" or not device.has_program() or not device.etcd.running():
            return False
        colour, ended, faulty = name, False, False
        for program in programs:
            fault = self.spot(event, program)
            try:
                status = device.program(program, fault=fault)
                faulty = faulty or device.hit
            except Ended:
                faulty = True
                device.etcd.kill()
                self.saw()
                ended = True
                break
            self.is_recorded(not faulty, device.hit and status in (0, 1) and fault[1].startswith("booted-looked@"))
            self.need(status in (0, 1) or faulty, "%s ended with %s: %s" % (program, status, device.words[-200:]))
            if program == "health" and status != 0 and colour == "green":
                # An update moved the data, and a killed start kept no record of the place.
                emptied = "began with an empty database" in device.words and \
                    any("data-dir" in keys for keys in device.conf.values())
                self.need(faulty or emptied, "health is not healthy: %s" % device.words[-300:])
                colour = "red"
                device.program("red")
                break
        self.judge(colour, me, faulty)
        if not ended:
            if colour == "green" and name != "hang":
                device.grubenv(boot_success="1", boot_counter=None, greenboot_next_deployment_id=None)
            elif colour == "red":
                device.after_red()
        self.stale = True
        return True

    def is_recorded(self, surely, blind=False):
        """A program may have seen that this run's start took nothing over; surely: it has. blind: it could not determine
        the booted deployment, so that the record may lack a name."""
        if self.own_run is True or not self.masked and self.own_run is False:
            return
        me, default = self.me(), self.device.listing[0] == self.device.booted
        surely = surely and self.masked and not self.unsure and not self.forged and not os.path.islink(self.device.data)
        self.change(lambda world: late(world, me, default) + (late(world, "nobody", default) if blind else []) +
                    ([] if surely else [world]))
        self.own_run = True if surely else None
        self.foreign = self.foreign and not surely

    def judge(self, colour, me, faulty):
        if colour == "bad":  # a run that is no longer green has no last backup of its own
            self.were_green.discard(me)

        def say(world):
            if world.owner != me or self.own_run is False:
                return [world]
            done = world.but(judged=True)
            if colour == "green":
                done = done.but(green=True, accepted=world.accepted | {me}, presumed=world.presumed - {me})
            elif colour == "bad" and world.green:  # a person took it back
                return [done, done.but(green=False), done.but(green=False, accepted=world.accepted - {me})]
            unsure = faulty or self.own_run is None
            if colour == "green" and not unsure:
                self.were_green.add(me)
            return [done] + ([world, world.but(judged=True)] if unsure else [])

        self.change(say)

    def on_green(self, event):
        return self.verdict(event, "green", "health", "green")

    def on_red(self, event):
        return self.verdict(event, "red", "health", "red")

    def on_hang(self, event):
        return self.verdict(event, "hang", "health")

    def on_stage(self, event, name):
        device = self.device
        if name == device.booted or device.staged or name in device.listing and name in device.pins:
            return False
        if name in device.listing:
            device.undeploy(name)
        device.stage(name)

    def on_default(self, event, name):
        if name not in self.device.listing:
            return False
        self.device.make_default(name)
        if self.device.staged:  # bootc and rpm-ostree remove it
            os.unlink(self.device.path("run/ostree/staged-deployment"))
            self.device.unstage()

    def on_undeploy(self, event, name):
        if name not in self.device.listing or name in (self.device.booted, *self.device.pins):
            return False
        self.device.undeploy(name)

    def on_pin_os(self, event, name):
        if name not in self.device.listing:
            return False
        self.device.pin(name, True)

    def on_unpin_os(self, event, name):
        if name not in self.device.listing:
            return False
        self.device.pin(name, False)

    def on_set(self, event, setting):
        self.device.configure(**dict([setting.split("=", 1)]))

    def on_conf(self, event, name, setting):
        if name == self.device.booted and setting.startswith("data-dir"):  # etcd runs on the other data
            return False
        self.device.conf.setdefault(name, {}).update([setting.split("=", 1)])
        self.device.configure()

    def on_clock(self, event, seconds):
        self.foreign_long = self.foreign_long or self.foreign
        self.device.clock = -int(time.time()) if seconds == "1970" else self.device.clock + int(seconds)

    # ---- commands of a person ----

    def name_of(self, text):
        """The full name that @N stands for in list, or text."""
        if self.stale and self.device.on:
            self.look(settled=False)
        if not text.startswith("@"):
            return text
        names = list(self.backups)
        return names[int(text[1:]) - 1] if int(text[1:]) <= len(names) else None

    def command(self, event, *arguments, stop=False):
        """The operator's command, etcd stopped for it; the service's start runs prerun again."""
        device = self.device
        if not device.has_program():
            return None
        ran = device.etcd.running()
        if stop:
            device.etcd.stop()
            self.saw()
        fault = self.spot(event, self.verb)
        try:
            self.status = device.program("greenboot-etcd", *arguments, fault=fault)
        except Ended:
            self.status = None
            device.etcd.kill()
        self.faulty = device.hit
        self.need(self.faulty or self.status in range(8), "%s ended with %s: %s" % (arguments[0], self.status,
                                                                              device.words[-300:]))
        self.rerun = ran and stop
        return self.status

    def again(self, event):
        if self.device.on and self.rerun:
            fresh = {}
            if self.start(fresh):
                self.etcd_starts()

    def on_backup(self, event, name):
        if not self.device.has_program():
            return False
        self.command(event, "backup", name, stop=True)
        if self.device.on and not self.faulty:
            self.look()
            self.need(self.status != 0 or self.backups.get(name, {}).get("content") == self.last,
                      "backup %s is not what the data was" % name)
        self.again(event)

    def restore(self, event, arguments, contents):
        """contents: the contents that the data may have afterwards."""
        me = self.me()
        if not self.device.has_program():
            return False
        self.command(event, *arguments, stop=True)
        before = self.last
        after = self.device.content()
        may = set(contents) if self.status == 0 else {before} | (
            set(contents) if self.status == 3 or self.faulty else set())
        self.need(after in may, "%s ended with %s, and the data is %s; allowed: %s" % (
            " ".join(arguments), self.status, self.called(after), " or ".join(map(self.called, may))))
        taken = [by_hand(world, me, after, before) for world in self.worlds]
        self.worlds = set(taken) if self.status == 0 and after != before else self.worlds | set(taken)
        self.last = after
        if self.device.on:
            if self.status == 0:
                self.own_run, self.device.before = True, self.device.data
            elif self.faulty:
                self.own_run = None
            self.look(settled=not self.faulty)
            if self.status == 0 and after != before and any(world.displaced == before for world in self.worlds):
                self.need(before in {entry["content"] for entry in self.backups.values()},
                          "restore displaced %s, and no backup has it" % self.called(before))
            self.again(event)
        return True

    def on_restore(self, event, name):
        name = self.name_of(name)
        if name == "--last-good":
            contents = {entry["content"] for entry in self.backups.values() if entry["grade"] == "good"}
        elif name in self.backups:
            contents = {self.backups[name]["content"]}
        else:
            return False
        return self.restore(event, ["restore", name], contents)

    def on_undo(self, event):
        contents = {world.displaced for world in self.worlds}
        have = {entry["content"] for entry in self.backups.values()}
        sure = len(contents) == 1 and contents <= have and self.own_run and not self.hostile and \
            not any("data-dir" in keys for keys in self.device.conf.values()) and \
            not contents & ({None, "?"} | self.logless)  # a backup without a log is refused as damaged
        if contents & {"?"}:
            contents = have
        done = self.restore(event, ["undo"], contents)
        if self.status == 5 and "what a failed update wrote" in "".join(self.undo_words):
            done = self.restore(event, ["undo", "--force"], contents)
        self.need(not done or not sure or self.status == 0 or self.faulty,
                  "undo ended with %s, though what was displaced is there: %s" % (self.status, self.undo_words))
        return done

    undo_words = property(lambda self: re.findall(r"(?m)^\$ .* undo\b.* -> \d+\n(.*)", self.device.log)[-1:])

    def on_delete(self, event, name):
        name = self.name_of(name)
        if name not in self.backups or not self.device.has_program():
            return False
        before = self.backups
        self.command(event, "delete", name)
        if self.device.on:
            self.by_person = True
            self.look(settled=not self.faulty)
            self.need(self.faulty or self.status != 0 or name not in self.backups, "delete did not")
        else:
            self.backups = {n: e for n, e in before.items() if n != name}
        self.deleted.add(before[name]["content"])

    def simple(self, event, *arguments, person=False):
        self.command(event, *arguments)
        if self.device.on:
            self.by_person = person
            self.look(settled=not self.faulty)

    def on_mark(self, event, grade, name=None):
        asked, name = name, name and self.name_of(name)
        if asked and name not in self.backups or not self.device.has_program():
            return False
        self.marked = True
        if name is None:
            return self.mark_run(event, grade)
        return self.simple(event, "mark", grade, name)

    def mark_run(self, event, grade):
        me = self.me()
        self.command(event, "mark", grade)
        self.judge("green" if grade == "good" else "bad", me, self.faulty or self.status != 0)
        if self.device.on:
            self.look(settled=not self.faulty)
        return True

    def on_pin(self, event, name):
        return name.startswith("@") and self.name_of(name) and self.simple(event, "pin", self.name_of(name))

    def on_unpin(self, event, name):
        return name.startswith("@") and self.name_of(name) and self.simple(event, "unpin", self.name_of(name))

    def on_prune(self, event):
        self.simple(event, "prune")

    def on_next_boot(self, event, name):
        name = self.name_of(name)
        if name is None or not self.device.has_program():
            return False
        self.command(event, "restore", name, "--next-boot")
        if self.status == 0:
            self.change(lambda world: world.but(request=name.lstrip("-")))
        elif self.faulty:
            self.change(lambda world: [world, world.but(request=name.lstrip("-"))])
        if not self.device.on:
            self.saw()

    def on_cancel(self, event):
        if not self.device.has_program():
            return False
        self.command(event, "restore", "--cancel")
        self.change(lambda world: [world.but(request=None)] + ([world] if self.faulty or self.status else []))

    def on_restart(self, event):
        if not self.device.has_program():
            return False
        self.device.etcd.stop()
        self.saw()
        if self.start(event):
            self.etcd_starts()
        return True

    # ---- a hostile etcd user: any change in its own directory ----

    def hostile_file(self, name):
        path = os.path.join(self.device.data, name)
        with open(path, "w", encoding="ascii") as file:
            file.write("mine")
        os.chown(path, etcd.UID, etcd.UID)

    def on_forge(self, event, how):
        self.forged = True
        mark, kept = (os.path.join(self.device.data, name) for name in
                      (".greenboot-etcd-owner", "member/kept"))
        if not os.path.exists(mark) and how != "replay":
            return False
        if how == "keep":
            os.rename(mark, kept)
        elif how == "replay":
            if not os.path.exists(kept):
                return False
            os.rename(kept, mark)
        elif how == "gone":
            os.unlink(mark)
        else:
            os.unlink(mark)
            self.hostile_file(".greenboot-etcd-owner")

    def on_nest(self, event):
        path = os.path.join(self.device.data, "member")
        if not os.path.isdir(path):
            return False
        self.hostile = True
        for n in range(70):
            path = os.path.join(path, "n%d" % n)
            if not os.path.exists(path):
                os.mkdir(path)
                os.chown(path, etcd.UID, etcd.UID)
        sync_fs(self.device.root)  # a power cut does not take it back

    def on_names(self, event):
        self.hostile = True
        top = os.path.join(self.device.data, "member", "names")
        os.makedirs(top, exist_ok=True)
        for n in range(3000):
            with open(os.path.join(top, ("%d" % n).ljust(250, "x")), "w", encoding="ascii"):
                pass
        sync_fs(self.device.root)

    def on_late(self, event):
        self.late = True

