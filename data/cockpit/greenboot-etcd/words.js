/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers, times and names as the page shows them. Sentences of the program stay as the program has them.
 */
const cockpit = window.cockpit;

export const _ = text => cockpit.gettext(text);
export const say = (text, ...values) => cockpit.format(cockpit.gettext(text), ...values);
export const count = (one, many, number) => cockpit.format(cockpit.ngettext(one, many, number), number);

const locale = () => (cockpit.language || "en").replace("_", "-");

/*
 * Names for people. A deployment is called by its version; without one, by the first 12 digits of its checksum. A backup
 * is called by its place in the list, or by the name that its maker gave to it. Full names are in the elements' titles.
 */
const systems = new Map();
const handles = new Map();
const ID = /([\w.+-]+-([0-9a-f]{64})\.\d+)(?:_([0-9a-f]{32})(\+\d+)?(~\d+)?)?/g;

/* Learns the names from answers of the program: objects with a deployment and its version, and the list of backups. */
export function learn(list, ...answers) {
    for (const one of [...list || [], ...answers.flat()])
        if (one && (one.version || one.deployment_version) && (one.id || one.deployment))
            systems.set(one.id || one.deployment, one.version || one.deployment_version);
    if (!list)
        return;
    handles.clear();
    list.forEach((backup, index) => handles.set(backup.name, backup.origin === "manual" ? backup.name : `@${index + 1}`));
}

/* Two systems of one version are told apart by 7 digits. */
export function system(id) {
    const checksum = (id || "").replace(/^.*-([0-9a-f]{64})\.\d+$/, "$1");
    const version = systems.get(id);

    if (!version)
        return checksum.slice(0, 12);
    return [...systems].some(([other, same]) => same === version && other !== id && !other.includes(checksum))
        ? `${version} (${checksum.slice(0, 7)})` : version;
}

/* A sentence of the program, with names for people. */
export const short = text => (text || "").replace(ID, (name, id, checksum, run, boot, copy) =>
    handles.get(name) || (run ? `${system(id)}_${run.slice(0, 8)}${boot || ""}${copy || ""}` : system(id)));

/* A command works as it stands: a place in the list is a name, a cut name is not. */
export const command = text => text.replace(ID, name => handles.get(name) || name);

/* The place in the list; null: the backup is not in it. */
export const handle = name => handles.get(name) || null;

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
const formats = {};
function time(seconds, style) {
    if (seconds === null || seconds === undefined)
        return _("unknown");
    formats[Object.keys(style).join()] ||= new Intl.DateTimeFormat(locale(), style);
    return formats[Object.keys(style).join()].format(seconds * 1000);
}

export const date = seconds => time(seconds, { dateStyle: "medium", timeStyle: "short" });
export const day = seconds => time(seconds, { dateStyle: "medium" });
export const clock = seconds => time(seconds, { timeStyle: "short" });

const STEPS = [["year", 31557600], ["month", 2629800], ["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/* How long, in the largest unit. */
export function duration(seconds) {
    const [unit, length] = STEPS.find(step => Math.abs(seconds) >= step[1]) || STEPS[STEPS.length - 1];

    return new Intl.NumberFormat(locale(), { style: "unit", unit, unitDisplay: "long" }).format(Math.floor(Math.abs(seconds) / length));
}

const WORDS = {
    good: () => _("good"), unproven: () => _("unproven"), bad: () => _("bad"), unreadable: () => _("unreadable"),
    green: () => _("good boot"), red: () => _("failed boot"), none: () => _("no verdict"), judging: () => _("being judged"),
    booted: () => _("booted"), rollback: () => _("rollback"), staged: () => _("staged"), pinned: () => _("pinned"), gone: () => _("gone"),
    passed: () => _("passed"), warning: () => _("warning"), failed: () => _("failed"), "not-applicable": () => _("does not apply"),
    "not-rehearsed": () => _("not rehearsed"), healthy: () => _("healthy"), unhealthy: () => _("unhealthy"),
    "cannot-tell": () => _("unknown"), "not-asked": () => _("not checked"), sound: () => _("sound"), damaged: () => _("damaged"),
    ready: () => _("ready"), "not-ready": () => _("not ready"),
    leader: () => _("leader"), follower: () => _("follower"), learner: () => _("learner"), unstarted: () => _("not started"), down: () => _("down"),
    service: () => _("service"), data: () => _("data directory"), disk: () => _("free space"), certificates: () => _("certificates"),
    reached: () => _("endpoint answers"), alarms: () => _("alarms"), write: () => _("write"), read: () => _("read"),
    member: () => _("member"), revision: () => _("revision"), quota: () => _("database against quota"), lag: () => _("entries to apply"),
    backup: () => _("back up"), restore: () => _("restore"), displace: () => _("set the present data aside as"), fresh: () => _("start without data"),
    hold: () => _("hold etcd back"), grade: () => _("grade"), delete: () => _("delete"), stamp: () => _("continue with the data"), keep: () => _("keep the data")
};

/* A word of the program in the user's language. A word of a newer program is shown as it is. */
export const word = name => WORDS[name] ? WORDS[name]() : String(name);

/* The reason for a backup: the program's, or what an older program's answer says. */
export function reason(backup) {
    if (backup.why && backup.grade !== "unreadable")
        return short(backup.why);
    if (backup.origin === "displaced")
        return backup.set_aside ? _("before restore, set aside") : _("failed update, set aside");
    return { manual: _("by hand"), periodic: _("by the clock") }[backup.origin] || _("automatic");
}

/* Sentences on top of the page. No other part tells them again. */
let told = [];
export const tell = (...texts) => { told = texts.flat(Infinity).filter(Boolean) };
export const is_told = (text, ...more) => [...told, ...more.filter(Boolean)].some(other => text.includes(other) || other.includes(text));
