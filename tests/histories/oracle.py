# SPDX-License-Identifier: LGPL-2.1-or-later
"""The allowed results for the data, after docs/promises.md, interface.md and decisions.md; never after src.

A World is an allowed state of a device: the owner of the data, each system's last data, and the data before a trial. If the design leaves a result open (a cut, a killed start), there are several worlds. Each start foresees the
contents that it may have. The observed content keeps the worlds that foresaw it. If no world is left, a promise is broken.

A content is a digest of the whole tree. None stands for any content that was whole before.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class World:
    owner: str = None          # a deployment with its incarnation, e.g. "B#1"; None: unknown
    accepted: frozenset = frozenset()  # not on trial: were green once, or had no verdict for weeks
    left: tuple = ()           # (deployment, content) when another took over from it
    chain: tuple = ()          # (deployment, content, failed) from the owner's base down to the accepted one
    base: str = None           # the start of the next attempt of a failed trial
    judged: bool = False       # the owner's last run was
    green: bool = False        # and a message said so
    used: str = "short"        # by this trial: short, long, unknown
    long: frozenset = frozenset()  # deployments that were used for weeks at some time
    default: bool = False      # the owner was GRUB's default when it took over
    closed: str = None         # the content at the closing record
    following: str = None      # should boot next, according to the record
    request: str = None        # for the next boot: a name, last-good
    displaced: str = None      # by the last restore; "?": not certain
    opened: bool = False       # by an etcd, since the take-over
    lost_line: bool = False    # the program cannot know the origin of the data
    given: str = None          # the data that the last restore put here
    presumed: frozenset = frozenset()  # accepted, if a run without a take-over is not a trial
    unwritten: frozenset = frozenset()  # deployments whose data is exactly what a restore had given them

    def on_trial(self, name):
        return name is not None and name not in self.accepted

    def last(self, name):
        return dict(self.left).get(name)

    def leave(self, now):
        """The owner leaves the data with this content."""
        if self.owner is None or now is None:
            return self
        left = dict(self.left)
        left[self.owner] = now
        mine = frozenset({self.owner})
        return dataclasses.replace(self, left=tuple(sorted(left.items())),
                                   unwritten=self.unwritten | mine if now == self.given else self.unwritten - mine)

    def failed(self):
        """Is the owner a failed trial? None: unknown."""
        if not self.on_trial(self.owner) or not self.judged or self.green or self.used == "long":
            return False
        return None if self.used == "unknown" or self.owner in self.long else True

    def chain_behind(self, now):
        """The chain of bases of the next owner."""
        link = (self.owner or "?", now, self.failed())
        return (link,) + (self.chain if self.on_trial(self.owner) else ())

    def but(self, **changes):
        return dataclasses.replace(self, **changes)

    def taken(self, name, default, **changes):
        """A new run of name has the data."""
        fresh = dict(owner=name, judged=False, green=False, default=default, closed=None, opened=False)
        if name != self.owner:
            fresh["given"] = None
        if name != self.owner:
            fresh["used"] = "short"
        return self.but(**dict(fresh, **changes))


@dataclasses.dataclass
class Facts:
    """The facts that a start finds, in addition to the world."""
    now: str                   # the content of the data directory
    name: str                  # the booted deployment
    default: bool              # GRUB's default entry is it
    chosen: bool               # and greenboot does not count it as a fallback
    backups: dict              # name -> entry of list, with its content
    grew: object               # grew(a, b): content a has b among its ancestors
    on_rollback: str = "restore"
    retry: bool = True         # retry-trial, during the countdown or if another deployment boots next
    skip: bool = False
    request: str = None        # on the kernel command line
    open_elsewhere: bool = False
    unfinished: int = 0        # unfinished starts of this deployment in a row
    foreign: bool = False      # etcd ran on the data without this program since the closing record
    foreign_long: bool = False  # for longer than trial-limit, or for an unknown time
    clones: bool = True        # finalize takes the closing backup
    fuzzy: bool = False        # a call fails in this start
    unreadable: bool = False   # a change of the data may make a backup impossible
    no_log: bool = False       # the log is not in its earlier place
    copied: bool = False       # the data has other inodes, or its mark was touched: its writer cannot be determined
    full: bool = False         # the disk is out of bytes, or of inodes
    damaged: frozenset = frozenset()  # contents without a log
    behind_link: bool = False  # the data directory is a link, and cannot be read
    moved_data: bool = False   # a deployment has its data elsewhere
    switched: bool = False     # this one has another data directory than the one before, and the data was not brought here
    moved_store: bool = False  # a deployment keeps its backups elsewhere

    def there(self, content, valid=False):
        return any(b["content"] == content and (not valid or b["grade"] in ("good", "unproven"))
                   for b in self.backups.values())

    def own(self, name):
        return [b["content"] for b in self.backups.values()
                if b["by"] == name.split("#")[0] and b["grade"] in ("good", "unproven")]


@dataclasses.dataclass
class Outcome:
    why: str
    content: str               # None: any complete tree
    world: World
    restored: bool = False
    held: bool = False


def put_back(why, facts, world, content, after, own=None):
    """A restore of content, if a backup has it. Else another backup of this deployment is restored, or the data stays."""
    result = []
    if content == facts.now:  # the outcome (restored, or kept) is invisible
        result = [Outcome(why, content, one)
                  for one in {after, after.but(displaced=facts.now if world.opened else "?")}]
    after = after.but(displaced=facts.now if world.opened else "?", opened=False, given=content)
    if not result and content is not None and facts.there(content):
        result = [Outcome(why, content, after, True)]
    # A boot with skip made no backup of it. Data without a log, or that a hostile user made unreadable, cannot be
    # backed up.
    if result and not world.lost_line and content not in facts.damaged and (
            facts.there(content) or not facts.unreadable):
        return result
    others = set(facts.own(own or facts.name))
    if world.lost_line:
        others |= {backup["content"] for backup in facts.backups.values()}
    return result + [Outcome(why + ", whose backup is gone: an older one", other, after.but(lost_line=True), True)
            for other in others] + [
        dataclasses.replace(one, world=one.world.but(lost_line=True))
        for one in upgrade(facts, world, why + ", whose backup is gone: the data stays")]


def requested(facts, world, spec):
    if spec == "last-good":
        return {b["content"] for b in facts.backups.values() if b["grade"] == "good"}
    if spec == "undo":
        return {world.displaced} if world.displaced not in (None, "?") else set()
    return {facts.backups[spec]["content"]} if spec in facts.backups else set()


def by_request(facts, world, spec):
    """Rule 2. No other rule acts in this start."""
    name, result = facts.name, []
    for content in requested(facts, world, spec):
        if content != facts.now and not facts.there(content):
            continue
        after = world.leave(facts.now) if world.owner != name else world
        place = [i for i, link in enumerate(world.chain) if link[0] == name]
        if world.owner == name:
            chain = world.chain
        elif place and world.on_trial(world.owner):
            chain = world.chain[place[0] + 1:]
        else:
            chain = world.chain_behind(facts.now)
        after = after.taken(name, facts.chosen, chain=chain if world.on_trial(name) else (), base=content,
                            request=None, displaced=facts.now if world.opened else "?", given=content)
        result.append(Outcome("the requested restore", content, after, content != facts.now))
    return result


def upgrade(facts, world, why="an upgrade keeps the data", chain=None):
    name = facts.name
    after = world.leave(facts.now).taken(
        name, facts.chosen, base=facts.now, chain=(chain or world.chain_behind(facts.now))
        if world.on_trial(name) else ())
    return [Outcome(why, facts.now, after)]


def adopt(facts, world):
    # The bases of earlier updates are still there after the adopted backup (corrections, 2).
    behind = world.chain if world.on_trial(world.owner) else ()
    after = world.leave(world.closed).taken(
        facts.name, facts.chosen, base=facts.now,
        chain=(("?", facts.now, False),) + behind if world.on_trial(facts.name) else (), lost_line=True)
    return [Outcome("data of an unknown owner stays", facts.now, after)]


def plain(facts, world):
    """Rule 6: the same deployment again."""
    stay = Outcome("a plain reboot keeps its data", facts.now, world.taken(facts.name, facts.chosen))
    if world.failed() is not False and world.base is None and world.lost_line:
        return [stay] + [Outcome("an attempt begins again", content, stay.world, True) for content in facts.own(facts.name)]
    return [stay]


def tried_again(facts, world):
    """Rule 9. None: it does not apply."""
    if world.owner != facts.name or world.failed() is False or world.base is None or not facts.retry or \
            not facts.there(world.base) and world.base != facts.now:
        return None
    return put_back("a failed update tried again starts from its base", facts, world, world.base,
                    world.taken(facts.name, facts.chosen, used="short"))


def return_to(facts, world, now, owner_default):
    """Rule 10b: content now goes to an accepted deployment that ran before. Returns the contents that it may get."""
    had = world.last(facts.name)
    if had is None or facts.on_rollback == "never":
        return [now]
    candidates = [had]
    if facts.there(had) and not facts.there(had, True):  # graded bad: an older one of its own
        candidates = facts.own(facts.name) or [now]
    if facts.on_rollback == "restore" and owner_default and facts.default:
        return candidates + [now] if world.lost_line else candidates
    if any(content != now and facts.grew(now, content) for content in candidates if content != had):
        return [now] + candidates  # the data contains the older state that would be restored
    if facts.grew(now, had):
        # The data was restored and not written since then. The restore began a new line of data.
        return [now] + candidates if facts.name in world.unwritten else [now]
    return [now] + candidates if world.lost_line else candidates


def base_returns(facts, world):
    """Rule 10a: the owner is a trial, and a system older than it booted."""
    name, place = facts.name, [i for i, link in enumerate(world.chain) if link[0] == facts.name]
    if facts.on_rollback == "never":
        return upgrade(facts, world, "on-rollback=never: the data stays")
    behind = world.leave(facts.now)
    if place:
        rest = world.chain[place[0] + 1:]
        on_trial = world.on_trial(name)
        after = behind.taken(name, facts.chosen, chain=rest if on_trial else (),
                             base=rest[0][1] if on_trial and rest else None)
        result = put_back("the update failed and its base is back", facts, world, world.chain[place[0]][1], after)
        if world.lost_line:  # taken over with skip, or adopted: the design does not decide
            result += upgrade(facts, world, "the update failed, its line is lost: the data stays")
        return result
    if not world.chain:
        return upgrade(facts, world, "a failed update without a base")
    result = []
    end = world.chain[-1][1]
    for content in {end, *return_to(facts, world, end, world.default)}:  # the design does not decide who moved the default entry
        result += put_back("an older green system is back over a failed update", facts, world, content,
                           behind.taken(name, facts.chosen, chain=(), base=None))
    return result


def upgrade_from_failed(facts, world):
    """Rule 12: the newest content of the chain that a failed trial did not write."""
    result = []
    if not world.chain and world.base is not None:  # a person chose it for the attempts of a system without a base
        world = world.but(chain=((world.owner, world.base, True),))
    for i, (_, content, failed) in enumerate(world.chain):
        if failed is True and i + 1 < len(world.chain):
            continue
        after = world.leave(facts.now).taken(facts.name, facts.chosen, base=content, chain=world.chain[i:])
        result += put_back("an update on top of a failed one starts from its base", facts, world, content, after,
                           world.chain[i][0])
        if content is not None and not facts.there(content):
            result += upgrade(facts, world)
        if failed is False or i + 1 == len(world.chain):
            break
    return result or upgrade(facts, world)


def decide(facts, world):
    """Every way in which a start of a new run may end."""
    name, now = facts.name, facts.now
    if facts.skip:
        if world.owner == name:
            return [Outcome("skip: the data stays", now, world.taken(name, facts.chosen))]
        # "Without a base of its own": this does not say whether the remaining owner is a link.
        behind = world.chain_behind(now) if world.on_trial(name) else ()
        return [Outcome("skip: the data stays under another system", now,
                        world.leave(now).taken(name, facts.chosen, base=None, lost_line=True, chain=chain))
                for chain in {behind, behind[1:]}]
    if facts.open_elsewhere:
        return [Outcome("another process has the data open", now, world, held=world.owner != name)]
    for spec in facts.request, world.request:
        if spec:
            result = by_request(facts, world, spec)
            refused = spec in facts.backups and facts.backups[spec]["grade"] == "bad" or \
                requested(facts, world, spec) & facts.damaged
            if result and not refused:
                return result
            waiting = world if spec is facts.request else world.but(request=None)
            world = world.but(request=None)
            if result:  # graded bad by name: the design does not decide
                return result + [one for each in {waiting, world}
                                 for one in decide(dataclasses.replace(facts, request=None), each)]
    if now is None:
        return [Outcome("no data", None, world.taken(name, facts.chosen, chain=(), base=None))]
    if world.owner is None:
        return adopt(facts, world)
    again = tried_again(facts, world)
    if again:
        # A person chose a base that is graded bad: "valid" in rule 9, "whatever its grade" in the terms.
        grades = {b["grade"] for b in facts.backups.values() if b["content"] == world.base}
        sure = world.failed() and "bad" not in grades and world.base not in facts.damaged
        return again if sure else again + decide(dataclasses.replace(facts, retry=False), world)
    place = [link for link in world.chain if link[0] == name]
    if world.owner != name and world.on_trial(world.owner) and (place or not world.on_trial(name)):
        return base_returns(facts, world)
    if facts.foreign and world.closed is not None:
        result = []
        # The following system, if it has the program, would have taken the data over.
        if world.owner == name and (world.following or "").startswith("Z") and facts.on_rollback != "never" and \
                facts.there(world.closed, True):
            result = put_back("an update without this program came and went", facts, world, world.closed,
                              world.taken(name, facts.chosen))
            result = [dataclasses.replace(one, world=one.world.but(displaced=now)) for one in result]
        return result if result and facts.clones and not facts.foreign_long else result + adopt(facts, world)
    if world.owner == name:
        return plain(facts, world)
    if not world.on_trial(name) and world.last(name) is not None:
        result = []
        for content in return_to(facts, world, now, world.default):
            after = world.leave(now).taken(name, facts.chosen, chain=(), base=None)
            result += put_back("a return to a green system", facts, world, content, after)
        return result
    if world.on_trial(world.owner) and world.failed() is not False:
        result = upgrade_from_failed(facts, world)
        return result if world.failed() else result + upgrade(facts, world)
    return upgrade(facts, world)


def without_log(facts, world):
    """A log that is elsewhere is unknown, not damage (corrections, 3). After an update etcd is held back, else the data
    stays. The data may look as if a system without this program had written."""
    result = decide(facts, world) + decide(dataclasses.replace(facts, foreign=True), world)
    if world.closed is not None and facts.there(world.closed, True):  # no write is lost
        shut = dataclasses.replace(facts, now=world.closed)
        whole = decide(shut, world) + upgrade(shut, world, "the backup from the last shutdown")
        result += whole + [dataclasses.replace(one, content=facts.now) for one in whole if one.content == world.closed]
    if world.owner != facts.name:
        result.append(Outcome("the log is elsewhere: held back", facts.now, world, held=True))
    return result


def elsewhere(facts, world):
    """The booted system has its data in another directory than the system before. A return restores into that directory.
    Missing or unreadable data holds etcd back. A tree in that directory may be the system's earlier data, or have no owner."""
    here = decide(facts, world)
    if facts.now is None or facts.behind_link:
        if facts.now is None:
            here += decide(dataclasses.replace(facts, now="nothing"), world)  # a content that no backup has
        here = [one for one in here if one.restored]
        unknown = facts.foreign and facts.now is None  # the system that moved it had no program
        if not unknown and any(one.content is not None for one in here) and not world.lost_line:
            return here
        if facts.now is None:
            here.append(Outcome("no data", None, world.taken(facts.name, facts.chosen, chain=(), base=None)))
        return here + [Outcome("the data lies elsewhere: held back", facts.now, world, held=True),
                       Outcome("the data lies elsewhere: the data in the directory stays", facts.now, world.but(lost_line=True))]
    here += decide(facts, world.but(closed=None)) + adopt(facts, world)
    if world.last(facts.name) is not None or world.owner == facts.name:
        here.append(Outcome("its own earlier data stays", facts.now, world.taken(facts.name, facts.chosen)))
    # The tree is known, and its last owner may have been a failed update. The oracle does not know whether an etcd
    # opened it.
    here += [Outcome("the state before who had this directory", b["content"], world.leave(facts.now).taken(
        facts.name, facts.chosen, base=b["content"], displaced="?"), True) for b in facts.backups.values()]
    return [dataclasses.replace(one, world=one.world.but(lost_line=True)) for one in here]


def unread(facts, world):
    """A return, a further attempt and a request displace a link; for all else nothing is done."""
    result = [one for one in decide(facts, world) if one.restored]
    if world.owner not in (None, facts.name):
        result.append(Outcome("the data cannot be read: held back", facts.now, world, held=True))
    return result + [Outcome("the data cannot be read: it stays", facts.now, world)]


def start(facts, world):
    """decide(), and the further results of unfinished starts and failing calls."""
    if facts.name in world.presumed and world.owner != facts.name:
        sure = world.but(presumed=world.presumed - {facts.name})
        return start(facts, sure) + start(facts, sure.but(accepted=sure.accepted - {facts.name}))
    if facts.switched:
        result = elsewhere(facts, world)
        if facts.no_log:
            result.append(Outcome("the log is elsewhere: held back", facts.now, world, held=True))
    elif facts.behind_link:
        result = unread(facts, world)
    else:
        result = without_log(facts, world) if facts.no_log else decide(facts, world)
    if facts.moved_data and (facts.request or world.request):  # a backup of another directory is refused
        result += start(dataclasses.replace(facts, request=None), world.but(request=None))
    if facts.foreign and (facts.copied or facts.unreadable):
        result += decide(facts, world.but(closed=None))
    # In the run of a fresh start, nothing in the data names it. The same holds if a system without the program made a
    # new directory.
    if (facts.copied or facts.moved_data and facts.foreign) and world.owner is not None:
        result += adopt(facts, world)
    if facts.full and not all(one.restored for one in result):
        result.append(Outcome("there is no room for a backup: held back", facts.now, world, held=True))
    # Without room, a backup is moved out of the store, except a trial's base, and except in the store of another
    # system.
    stays = facts.full and (facts.moved_store or world.owner == facts.name or world.on_trial(facts.name))
    if facts.unfinished >= 2 or facts.fuzzy or facts.unreadable or stays:
        # A restore is due and impossible: the data stays, and is not rewound later.
        mine = world.owner == facts.name  # an attempt that continues belongs to the same trial
        result += [Outcome("what could not be done was given up: the data stays", facts.now,
                           world.leave(facts.now).taken(facts.name, facts.chosen, base=base,
                                                        chain=world.chain if mine else (),
                                                        request=None, lost_line=True))
                   for base in {None, world.base if mine else None}] if any(one.restored for one in result) else []
    if facts.fuzzy or facts.unreadable and not all(one.restored for one in result):
        result.append(Outcome("no backup can be made: held back", facts.now, world, held=True))
    return result


def interrupted(facts, world):
    """A start that was cut or killed: it has done nothing yet, or all that it was about to do."""
    # If etcd may start anyway, the closing record is over.
    result = [Outcome("nothing was done yet", facts.now, one) for one in {world, world.but(closed=None)}]
    return result + [one for one in start(facts, world) if not one.held]


def late(world, name, default):
    """etcd had the data in a run that took nothing over, and a program recorded it (corrections, 2): no later boot undoes
    that automatically."""
    if world.owner is None:
        return [world]
    if world.owner == name:
        return [world.but(judged=False, green=False, default=default, base=None, closed=None, used="unknown",
                          opened=True)]
    after = world.leave(world.closed).taken(name, default, base=None, chain=(), lost_line=True, opened=True)
    mine = {name} - after.accepted  # the oracle does not know whether it is on trial
    return [after, after.but(accepted=after.accepted | mine, presumed=after.presumed | mine)]


def by_hand(world, name, content, now):
    """A restore by hand: a new beginning for the booted system."""
    after = world if world.owner in (name, None) else world.leave(now)
    chain = world.chain if world.owner == name else world.chain_behind(now)
    return after.taken(name, world.default, chain=chain if world.on_trial(name) else (), base=content, given=content,
                       displaced=now if world.opened or world.owner != name else "?")
