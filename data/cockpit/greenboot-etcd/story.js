/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The history of the data for a picture: lanes (deployments), runs in their order, and each run's backups and restores.
 * The source is the answer of log and list; without root, that of list alone.
 */
import { _ } from "./words.js";

/*
 * {lanes: [deployment], runs: [{id, deployment, verdict, health, by_hand, begun, ended, marks}], made: backup -> its run}.
 * A mark is {kind: "backup", backup} or {kind: "restore", from, by_hand, time, text}, oldest first.
 */
export function story(log, backups, status) {
    const runs = new Map();
    const made = new Map();

    const run_of = (id, deployment) => {
        const key = `${id || "?"} ${deployment || "?"}`;

        if (!runs.has(key))
            runs.set(key, { id, deployment: deployment || null, verdict: "none", health: "not-asked", begun: null, ended: null, marks: [] });
        return runs.get(key);
    };

    for (const event of log || []) {
        const record = event.record || {};

        if (event.kind === "take-over") {
            const run = run_of(event.run, event.deployment);

            run.begun ??= event.time;
            if (record.source)
                run.marks.push({ kind: "restore", from: record.source, by_hand: record.asked === true, time: event.time, order: event.sequence, text: event.text });
        } else if (event.kind === "verdict" && record.verdict !== "judging") {
            Object.assign(run_of(event.run, event.deployment), { verdict: record.verdict, health: record.health, by_hand: record.by_hand });
        } else if (event.kind === "closing") {
            run_of(event.run, event.deployment).ended = event.time;
        } else if (event.kind === "backup") {
            made.set(record.backup, run_of(event.run, event.deployment));
        }
    }
    /* The list begins with the newest backup, the picture with the oldest. */
    for (const backup of [...backups].reverse()) {
        if (backup.consumed)
            continue;
        const run = made.get(backup.name) || run_of(backup.run, backup.deployment);

        if (!log)
            Object.assign(run, { verdict: backup.verdict ?? run.verdict, health: backup.health ?? run.health });
        run.marks.push({ kind: "backup", backup, order: backup.sequence ?? 0 });
    }
    for (const run of runs.values())
        run.marks.sort((one, other) => one.order - other.order);

    const list = [...runs.values()];
    const now = list.find(run => run.id && run.id === status?.run && run.deployment === status?.booted);

    if (now)
        now.now = true;
    return { lanes: [...new Set(list.map(run => run.deployment))], runs: list, made };
}

const LANES = 5;
const MARKS = 100;

/* The newest runs, as many as a small screen has room for. */
export function recent({ lanes, runs, made }) {
    const kept = new Set();
    let marks = 0;
    let first = runs.length;

    while (first > 0) {
        const run = runs[first - 1];

        if (first < runs.length && (kept.size === LANES && !kept.has(run.deployment) || marks + run.marks.length > MARKS))
            break;
        kept.add(run.deployment);
        marks += run.marks.length + 1;
        first--;
    }
    return { lanes: lanes.filter(lane => kept.has(lane)), runs: runs.slice(first), made };
}

/* The role of a deployment: booted, rollback, staged, pinned, gone; null: unknown. */
export function role(deployment, backups, status) {
    if (deployment && deployment === status?.booted)
        return "booted";
    return status?.deployments?.find(one => one.id === deployment)?.place || backups.find(backup => backup.deployment === deployment)?.present || null;
}

/* The reason why `undo` can do nothing now; null: it can. The last restore set data aside, by hand, and the data is there. */
export function no_undo(log, backups) {
    const last = log?.findLast(event => event.kind === "take-over" && (event.record.source || event.record.asked));

    if (!log)
        return null;
    if (!last)
        return _("No restore was made yet.");
    if (!last.record.asked)
        return _("The last restore followed a failed update: undo would bring back the data of that update.");
    return backups.some(backup => backup.name === last.record.found?.name) ? null : _("The data that the last restore set aside was deleted.");
}
