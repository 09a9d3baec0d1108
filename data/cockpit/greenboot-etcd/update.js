/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The update: the staged system, the answers of `preflight` and of the rehearsal, and whether a rollback works. The rule
 * and the steps of `explain` are folded.
 */
import { h, icon, replace, fact, fold, with_commands } from "./dom.js";
import { _, say, short, is_told, command, system, count, date, number, word, handle } from "./words.js";
import { ask, admin } from "./program.js";
import { trouble, waiting } from "./dialog.js";
import { act } from "./actions.js";

const answer = (name, ...text) => h("span", {}, icon(name), text);

const actions = list => h("ol", {}, list.map(action => h("li", {}, word(action.action), " ", h("span", { title: action.name }, short(action.name)),
    action.reason ? h("small", {}, short(action.reason)) : null,
    action.command ? h("small", {}, _("By hand: "), h("code", { title: action.command }, command(action.command))) : null)));

/* The decision for one system, in full. */
function steps(name, title, { explained }) {
    if (!explained)
        return null;
    return fold(name, title, h("p", {}, say("Rule $0: $1", [explained.rule, ...explained.also].join(", "), short(explained.reason))),
                explained.actions.length ? actions(explained.actions) : null,
                explained.branches.map(branch => [h("p", {}, say("If $0:", short(branch.if)), " ", short(branch.reason)), actions(branch.actions)]));
}

/* An explain that is refused is not a fault: that system is missing. */
const explain = which => ask(["explain", `--booted=${which}`]).then(explained => ({ explained }))
        .catch(error => error.kind === "refused" && error.code === 1 ? { missing: true } : { error });

const preflight = () => admin() === false ? Promise.resolve({ closed: true })
    : ask(["preflight"]).then(found => ({ found })).catch(error => ({ error }));

const count_of = (findings, ...results) => findings.filter(finding => results.includes(finding.result)).length;

function ready({ found, closed }) {
    if (closed)
        return fact(_("Preflight"), _("The checks need administrative access."));
    return found && fact(_("Preflight"), answer(found.result, word(found.result)), h("small", {}, [
        count("$0 check passed", "$0 checks passed", count_of(found.findings, "ok", "note")),
        count_of(found.findings, "bad") ? count("$0 failed", "$0 failed", count_of(found.findings, "bad")) : null,
        count_of(found.findings, "unknown") ? count("$0 unknown", "$0 unknown", count_of(found.findings, "unknown")) : null].filter(Boolean).join(", ")));
}

/* A finding that the first lines of the page or the rehearsal tell is not told again. */
function findings({ found }, rehearsal) {
    const item = finding => h("li", {}, icon(finding.result), with_commands(short(finding.text)));
    const open = found?.findings.filter(({ result, text }) => (result === "bad" || result === "unknown") && !is_told(text, rehearsal?.reason)) || [];
    const passed = found?.findings.filter(({ result }) => result === "ok" || result === "note") || [];

    return [open.length ? h("ul", { class: "warnings" }, open.map(item)) : null,
        passed.length ? fold("preflight", _("Checks that passed"), h("ul", { class: "sentences" }, passed.map(item))) : null];
}

function rehearsed(rehearsal) {
    if (!rehearsal)
        return fact(_("Rehearsal"), answer("unproven", _("not rehearsed")));
    return fact(_("Rehearsal"), answer(rehearsal.result, word(rehearsal.result)),
                h("small", {}, rehearsal.to ? say("etcd $0 to $1, $2", rehearsal.from || "?", rehearsal.to, date(rehearsal.at)) : date(rehearsal.at)),
                rehearsal.reason && !is_told(rehearsal.reason) ? h("small", {}, short(rehearsal.reason)) : null,
                rehearsal.locked ? h("p", { class: "notice is-bad" }, icon("bad"), _("The update is locked: it does not boot.")) : null);
}

function backup_in_full(name, list) {
    const backup = list.find(one => one.name === name);

    return backup ? say("$0 ($1, $2, revision $3)", handle(name), word(backup.grade), date(backup.created), number(backup.revision)) : short(name);
}

/* With a staged update: the way back after it. Else: the way back now. */
function way_back(staged, rollback, { status, list }) {
    const kept = status.rehearsal?.goes_back;
    const { explained } = staged.explained ? staged : rollback;

    if (staged.error || rollback.error)
        return null;
    if (!explained)
        return fact(_("Way back"), answer("unproven", _("There is no old system to go back to.")));
    const restore = explained.actions.find(action => action.action === "restore");
    const grade = list.find(backup => backup.name === restore?.name)?.grade;

    if (staged.explained) {
        const backup = explained.actions.find(action => action.action === "backup");

        if (explained.hold)
            return fact(_("Way back"), answer("bad", _("The update's first boot would hold etcd back.")));
        return fact(_("Way back"), answer(backup || status.last_good ? "good" : "bad", backup ? _("A failed update brings back the backup that its first boot takes.")
            : status.last_good ? say("A failed update brings back $0.", backup_in_full(status.last_good.name, list)) : _("A failed update has no backup to bring back.")),
                    kept === false ? h("small", {}, say("The old etcd needs that backup: $0", short(status.rehearsal.goes_back_reason) || _("it cannot read the new data")))
                        : kept ? h("small", {}, _("The old etcd can read the new data.")) : null);
    }
    if (explained.hold)
        return fact(_("Way back"), answer("bad", say("A rollback to $0 would hold etcd back.", system(explained.deployment))));
    if (explained.actions.some(action => action.action === "fresh"))
        return fact(_("Way back"), answer("bad", say("A rollback to $0 would start without data.", system(explained.deployment))));
    return fact(_("Way back"), answer(restore ? grade || "unproven" : "good", restore
        ? say("A rollback to $0 restores $1.", system(explained.deployment), backup_in_full(restore.name, list))
        : say("A rollback to $0 keeps the data.", system(explained.deployment))));
}

export async function update(section, { status, list, refresh }) {
    replace(section, waiting());
    const [staged, rollback, checks] = await Promise.all([explain("staged"), explain("rollback"), preflight()]);
    const id = staged.explained?.deployment;

    replace(section,
            h("dl", { class: "facts" },
              fact(_("Staged"), id ? h("span", { title: id }, system(id)) : _("No update is staged.")),
              ready(checks), id ? rehearsed(status.rehearsal) : null, way_back(staged, rollback, { status, list })),
            [staged, rollback, checks].map(({ error }) => error ? trouble(error) : null),
            findings(checks, id && status.rehearsal),
            steps("staged", _("Steps at the update's first boot"), staged), steps("rollback", _("Steps of a rollback"), rollback),
            h("div", { class: "toolbar" }, act(_("Rehearse the update"), "rehearse", { after: refresh, why: staged.missing ? _("No update waits for a rehearsal.") : null })));
}
