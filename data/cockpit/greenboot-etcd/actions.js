/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The actions of a person. The program first answers a dry run with its plan; a second press runs it.
 */
import { h, replace, icon } from "./dom.js";
import { _, say, short, size, word, count } from "./words.js";
import { ask, admin } from "./program.js";
import { button, dialog, progress, trouble, waiting } from "./dialog.js";

const backed_up = answer => [
    answer.dry_run ? say("A backup named $0 will be made.", short(answer.name)) : say("The backup $0 was made.", short(answer.name)),
    answer.dry_run ? null : say("Size: $0, graded $1.", size(answer.size), word(answer.grade)),
    answer.service_restarted ? _("etcd was stopped and started again.") : null];

const restored = answer => [
    answer.dry_run ? say("The backup $0 will be restored.", short(answer.name)) : say("The backup $0 was restored.", short(answer.name)),
    answer.loss ? answer.dry_run ? say("Lost by it: $0.", short(answer.loss)) : say("Lost: $0.", short(answer.loss)) : null,
    answer.displaced ? answer.dry_run ? say("The present data will be set aside as $0; “Undo” brings it back.", short(answer.displaced))
        : say("The former data was set aside as $0; “Undo” brings it back.", short(answer.displaced)) : null,
    answer.service_restarted ? _("etcd was stopped and started again.") : null];

const requested = answer => answer.cancelled !== undefined ? [_("The request is cancelled.")]
    : [answer.dry_run ? say("At the next boot, before etcd starts, the backup $0 will be restored.", short(answer.name))
        : say("The next boot restores the backup $0, before etcd starts.", short(answer.name)),
    _("The data of that moment becomes a backup.")];

const verified = answer => answer.dry_run ? []
    : answer.verified.flatMap(one => [
        h("span", {}, icon(one.result), say("$0: $1", short(one.name), word(one.result))),
        ...one.findings.filter(finding => finding.severity !== "note").map(finding => `${finding.file}: ${finding.what}. ${finding.advice}`)]);

const changed = (will, did) => answer => {
    const names = [...answer.pinned || [], ...answer.unpinned || [], ...answer.deleted || []];

    return [say(answer.dry_run ? will : did, names.map(short).join(", "))];
};

const answered = answer => [h("span", {}, icon(answer.result), say("The rehearsal: $0", word(answer.result))), short(answer.reason),
    answer.goes_back === null ? null : answer.goes_back ? _("A rollback after this update can keep the data.")
        : say("A rollback after this update needs a backup: $0", short(answer.goes_back_reason) || _("the old etcd cannot read the new data"))];

const WHEN = name => [
    { label: _("Now: stop etcd, and start it again"), args: ["restore", name, "--stop"], says: restored },
    { label: _("At the next boot"), args: ["restore", name, "--next-boot"], says: requested }];

/*
 * title; confirm: the label of the button that confirms; ways: the choices, the first is the default. A way has args for
 * the program, and says: sentences for its answer. dry: false: the program has no dry run, and text is the plan.
 */
const ACTIONS = {
    backup: () => ({
        title: _("Back up now"), confirm: _("Back up"), doing: _("Backing up…"), named: true,
        ways: [{ label: _("While etcd runs"), args: ["backup", "--live"], says: backed_up },
            { label: _("Stop etcd, and start it again"), args: ["backup", "--stop"], says: backed_up }]
    }),
    restore: backup => ({
        title: say("Restore $0", short(backup.name)), confirm: _("Restore"), doing: _("Restoring…"), danger: true, ways: WHEN(backup.name)
    }),
    "last-good": () => ({
        title: _("Restore the last good backup"), confirm: _("Restore"), doing: _("Restoring…"), danger: true, ways: WHEN("--last-good")
    }),
    undo: () => ({
        title: _("Undo the last restore"), confirm: _("Undo"), doing: _("Undoing…"), danger: true,
        ways: [{ args: ["undo", "--stop"], says: restored }]
    }),
    cancel: () => ({
        title: _("Cancel the request"), confirm: _("Cancel the request"), doing: _("Cancelling…"),
        ways: [{ args: ["restore", "--cancel"], says: requested }]
    }),
    verify: backup => ({
        title: backup ? say("Verify $0", short(backup.name)) : _("Verify all backups"), confirm: _("Verify"), doing: _("Reading…"), dry: false, stop: true,
        text: _("The program reads every page and row, without etcd. It grades a damaged backup bad, so that no boot restores it."),
        ways: [{ args: ["verify", "--full", ...backup ? [backup.name] : []], says: verified }]
    }),
    pin: backup => ({
        title: say("Pin $0", short(backup.name)), confirm: _("Pin"), doing: _("Pinning…"),
        ways: [{ args: ["pin", backup.name], says: changed("Retention will never remove $0.", "Retention never removes $0.") }]
    }),
    unpin: backup => ({
        title: say("Unpin $0", short(backup.name)), confirm: _("Unpin"), doing: _("Unpinning…"),
        ways: [{ args: ["unpin", backup.name], says: changed("Retention may remove $0 later.", "Retention may remove $0 later.") }]
    }),
    delete: backup => ({
        title: say("Delete $0", short(backup.name)), confirm: _("Delete"), doing: _("Deleting…"), danger: true,
        ways: [{ args: ["delete", backup.name], says: changed("$0 will be deleted permanently.", "$0 was deleted.") }]
    }),
    rehearse: () => ({
        title: _("Rehearse the update"), confirm: _("Rehearse"), doing: _("Rehearsing…"), dry: false, stop: true,
        text: _("The update's etcd starts on a clone of today's data, isolated from this system. The running etcd is not stopped, and its data is only read."),
        ways: [{ args: ["rehearse"], says: answered }]
    }),
};

export const NO_ADMIN = "needs-admin";

let serial = 0;

/*
 * A button that begins an action, and the reason why it is off. The title has the reason for a pointer, the description
 * for a screen reader; a press shows it as text. Without administrative access, the note on top is the reason.
 */
export function act(label, name, { backup, danger, why, after } = {}) {
    const reason = admin() ? why : document.getElementById(NO_ADMIN)?.textContent || _("This needs administrative access.");
    const id = reason && admin() ? `why-${++serial}` : NO_ADMIN;
    const text = id === NO_ADMIN ? null : h("p", { id, class: "why", hidden: true, role: "status" }, reason);

    return [button(label, () => reason ? text?.removeAttribute("hidden") : perform(ACTIONS[name](backup), after), {
        "data-action": name, "data-key": `${name} ${backup ? backup.name : ""}`, class: danger ? "danger" : null,
        "aria-disabled": reason ? "true" : null, title: reason || null, "aria-describedby": reason ? id : null
    }), text];
}

function sentences(lines) {
    return h("ul", { class: "sentences" }, lines.filter(Boolean).map(line => h("li", {}, line)));
}

function perform(action, after) {
    const { body, buttons, close, hold, element } = dialog(action.title, "action");
    const name = action.named ? h("input", { type: "text", id: "backup-name", autocomplete: "off", spellcheck: "false" }) : null;
    const text = action.named ? h("input", { type: "text", id: "backup-text", autocomplete: "off" }) : null;
    const plan = h("div", { class: "plan", "aria-live": "polite" });
    const confirm = button(action.confirm, run, { class: action.danger ? "danger primary" : "primary", "data-confirm": true });
    let way = action.ways[0];
    let question = 0;

    const args = () => [...way.args, ...name?.value ? [name.value] : [], ...text?.value ? ["-d", text.value] : []];

    async function preview() {
        const mine = ++question;

        confirm.setAttribute("disabled", "");
        if (action.dry === false) {
            replace(plan, h("p", {}, action.text));
            confirm.removeAttribute("disabled");
            return;
        }
        replace(plan, waiting());
        try {
            const answer = await ask([...args(), "-n"], { change: true });

            if (mine !== question)
                return;
            replace(plan, sentences(way.says(answer)));
            confirm.removeAttribute("disabled");
        } catch (error) {
            if (mine === question)
                replace(plan, trouble(error));
        }
    }

    async function run() {
        const work = ask(args(), { change: true });

        hold(true);
        replace(body, progress(action.doing));
        replace(buttons, action.stop ? button(_("Stop"), () => work.stop(), { "data-stop": true }) : null);
        try {
            replace(body, h("div", { role: "status", class: "result", "data-result": "done" }, sentences(way.says(await work))));
        } catch (error) {
            replace(body, trouble(error));
        }
        hold(false);
        replace(buttons, button(_("Close"), close, { class: "primary", autofocus: true }));
        buttons.firstChild.focus();
        after?.();
    }

    replace(body,
            name && h("div", { class: "field" }, h("label", { for: name.id }, _("Name (empty: an automatic name, and retention may remove the backup)")), name),
            text && h("div", { class: "field" }, h("label", { for: text.id }, _("Description")), text),
            action.ways.length > 1 && h("fieldset", {}, h("legend", {}, _("When")), action.ways.map((choice, index) =>
                h("label", {}, h("input", {
                    type: "radio", name: "way", value: index, checked: index === 0, onchange: () => { way = choice; preview() }
                }), choice.label))),
            h("h3", {}, _("The plan")), plan);
    name?.addEventListener("change", preview);
    text?.addEventListener("change", preview);
    replace(buttons, confirm, button(_("Cancel"), close));
    element.addEventListener("submit", event => event.preventDefault());
    preview();
}

export const many = number => count("$0 backup", "$0 backups", number);
