/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers, times and names as the page shows them. Sentences of the program stay as the program has them.
 */
const cockpit = window.cockpit;

export const _ = text => cockpit.gettext(text);
export const say = (text, ...values) => cockpit.format(cockpit.gettext(text), ...values);
export const count = (one, many, number) => cockpit.format(cockpit.ngettext(one, many, number), number);

const locale = () => (cockpit.language || "en").replace("_", "-");

/* Checksums and run ids are cut to what a person can compare; the whole name is in the element's title. */
export function short(name) {
    return (name || "").replace(/([0-9a-f]{12})[0-9a-f]{52}\b/g, "$1…").replace(/(^|[_ ])([0-9a-f]{8})[0-9a-f]{24}(?![0-9a-f])/g, "$1$2…");
}

export function size(bytes) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = 0;

    if (bytes === null || bytes === undefined)
        return "–";
    for (; bytes >= 1024 && unit < units.length - 1; unit++)
        bytes /= 1024;
    return `${new Intl.NumberFormat(locale(), { maximumFractionDigits: unit ? 1 : 0 }).format(bytes)} ${units[unit]}`;
}

export const number = value => value === null || value === undefined ? "–" : new Intl.NumberFormat(locale()).format(value);

/* A format takes longer to make than to use. */
let dates = null;
export function date(seconds) {
    if (seconds === null || seconds === undefined)
        return _("unknown");
    dates ||= new Intl.DateTimeFormat(locale(), { dateStyle: "medium", timeStyle: "short" });
    return dates.format(seconds * 1000);
}

const STEPS = [["year", 31557600], ["month", 2629800], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/* How long, in the two largest units of which one is there. */
export function duration(seconds) {
    const [unit, length] = STEPS.find(step => Math.abs(seconds) >= step[1]) || STEPS[STEPS.length - 1];

    return new Intl.NumberFormat(locale(), { style: "unit", unit, unitDisplay: "long" }).format(Math.floor(Math.abs(seconds) / length));
}

const WORDS = {
    good: () => _("good"), unproven: () => _("unproven"), bad: () => _("bad"), unreadable: () => _("unreadable"),
    green: () => _("green"), red: () => _("red"), none: () => _("unknown"), judging: () => _("being judged"),
    booted: () => _("booted"), rollback: () => _("rollback"), staged: () => _("staged"), pinned: () => _("pinned"), gone: () => _("gone"),
    passed: () => _("passed"), warning: () => _("warning"), failed: () => _("failed"), "not-applicable": () => _("not applicable"),
    "not-rehearsed": () => _("not rehearsed"), healthy: () => _("healthy"), unhealthy: () => _("unhealthy"),
    "cannot-tell": () => _("cannot tell"), "not-asked": () => _("not asked"), sound: () => _("sound"), damaged: () => _("damaged"),
    leader: () => _("leader"), follower: () => _("follower"), learner: () => _("learner"), unstarted: () => _("not started"), down: () => _("down"),
    service: () => _("service"), data: () => _("data directory"), disk: () => _("free space"), certificates: () => _("certificates"),
    reached: () => _("endpoint answers"), alarms: () => _("alarms"), write: () => _("write"), read: () => _("read"),
    member: () => _("member"), revision: () => _("revision"), quota: () => _("database against quota"), lag: () => _("entries to apply"),
    automatic: () => _("automatic"), displaced: () => _("displaced by a restore"), manual: () => _("by hand"), periodic: () => _("periodic"),
    backup: () => _("back up"), restore: () => _("restore"), displace: () => _("keep the present data as"), fresh: () => _("start without data"),
    hold: () => _("hold etcd back"), grade: () => _("grade"), delete: () => _("delete"), stamp: () => _("take the data over"), keep: () => _("keep the data")
};

/* A word of the program in the user's language; one that a newer program has is shown as it is. */
export const word = name => WORDS[name] ? WORDS[name]() : String(name);
