/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The history of the data, as a picture needs it: lanes (deployments), runs in the order in which they had the data,
 * and in each run its backups and restores. Made of what log and list say; where the log may not be read, of the list.
 */

/*
 * {lanes: [deployment], runs: [{id, deployment, verdict, health, by_hand, begun, ended, marks}], made: backup -> its run}.
 * A mark is {kind: "backup", backup} or {kind: "restore", from, by_hand, time, text}, in the order in which they came.
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
    /* The list is newest first, the picture oldest first. */
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

/* The role of a deployment: booted, rollback, staged, pinned, gone; null: unknown. */
export function role(deployment, backups, status) {
    if (deployment && deployment === status?.booted)
        return "booted";
    return backups.find(backup => backup.deployment === deployment)?.present || null;
}
