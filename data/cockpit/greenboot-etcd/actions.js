/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The actions of a person. Each is first asked as a dry run, so that the program itself says what it will do;
 * it is carried out when that was confirmed.
 */
import { h, replace, icon } from "./dom.js";
import { _, say, short, size, word, count } from "./words.js";
import { ask, admin } from "./program.js";
import { button, dialog, progress, trouble, waiting } from "./dialog.js";

const backed_up = answer => [
    answer.dry_run ? say("A backup named $0 will be made.", short(answer.name)) : say("The backup $0 was made.", short(answer.name)),
    answer.dry_run ? null : say("Size: $0, graded $1.", size(answer.size), word(answer.grade)),
    answer.service_restarted ? _("etcd was stopped, and started again.") : null];

const restored = answer => [
    answer.dry_run ? say("The backup $0 will be put in the data's place.", short(answer.name))
        : say("The backup $0 was put in the data's place.", short(answer.name)),
    answer.loss ? answer.dry_run ? say("This will be lost: $0.", short(answer.loss)) : say("This is lost: $0.", short(answer.loss)) : null,
    answer.displaced ? answer.dry_run ? say("The present data will be kept as $0; “Undo” brings it back.", short(answer.displaced))
        : say("The data that was there is kept as $0; “Undo” brings it back.", short(answer.displaced)) : null,
    answer.service_restarted ? _("etcd was stopped, and started again.") : null];

const requested = answer => answer.cancelled !== undefined ? [_("The request is cancelled.")]
    : [answer.dry_run ? say("At the next boot, before etcd starts, the backup $0 will be put in the data's place.", short(answer.name))
        : say("The next boot puts the backup $0 in the data's place, before etcd starts.", short(answer.name)),
    _("The data that is there then becomes a backup.")];

const verified = answer => answer.dry_run ? []
    : answer.verified.flatMap(one => [
        h("span", {}, icon(one.result), say("$0: $1", short(one.name), word(one.result))),
        ...one.findings.filter(finding => finding.severity !== "note").map(finding => `${finding.file}: ${finding.what}. ${finding.advice}`)]);

const changed = (will, did) => answer => {
    const names = [...answer.pinned || [], ...answer.unpinned || [], ...answer.deleted || []];

    return [say(answer.dry_run ? will : did, names.map(short).join(", "))];
};

const answered = answer => [h("span", {}, icon(answer.result), say("The rehearsal: $0", word(answer.result))), answer.reason,
    answer.goes_back === null ? null : answer.goes_back ? _("A rollback after this update can keep the data.")
        : say("A rollback after this update needs a backup: $0", answer.goes_back_reason || _("the old etcd cannot read the new data"))];

const WHEN = name => [
    { label: _("Now; etcd is stopped for it"), args: ["restore", name, "--stop"], says: restored },
    { label: _("At the next boot"), args: ["restore", name, "--next-boot"], says: requested }];

/*
 * title, and what the button that confirms it says; ways: the choices, of which the first is the default: args for the
 * program, says: sentences for its answer. dry: false where the program has no dry run: then text says what happens.
 */
const ACTIONS = {
    backup: () => ({
        title: _("Back up now"), confirm: _("Back up"), doing: _("Backing up…"), named: true,
        ways: [{ label: _("While etcd runs"), args: ["backup", "--live"], says: backed_up },
            { label: _("Stop etcd for it, and start it again"), args: ["backup", "--stop"], says: backed_up }]
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
        text: _("Every page and row is read, without etcd. A backup that is found damaged is graded bad, so that nothing restores it by itself."),
        ways: [{ args: ["verify", "--full", ...backup ? [backup.name] : []], says: verified }]
    }),
    pin: backup => ({
        title: say("Pin $0", short(backup.name)), confirm: _("Pin"), doing: _("Pinning…"),
        ways: [{ args: ["pin", backup.name], says: changed("Retention will never remove $0.", "Retention never removes $0.") }]
    }),
    unpin: backup => ({
        title: say("Unpin $0", short(backup.name)), confirm: _("Unpin"), doing: _("Unpinning…"),
        ways: [{ args: ["unpin", backup.name], says: changed("Retention may remove $0 in time.", "Retention may remove $0 in time.") }]
    }),
    delete: backup => ({
        title: say("Delete $0", short(backup.name)), confirm: _("Delete"), doing: _("Deleting…"), danger: true,
        ways: [{ args: ["delete", backup.name], says: changed("$0 will be deleted for good.", "$0 is deleted.") }]
    }),
    rehearse: () => ({
        title: _("Rehearse the update"), confirm: _("Rehearse"), doing: _("Rehearsing…"), dry: false, stop: true,
        text: _("The update's etcd is started on a clone of today's data, walled off from this system. etcd runs on, and its data is only read."),
        ways: [{ args: ["rehearse"], says: answered }]
    }),
};

export const NO_ADMIN = "needs-admin";

/* A button that begins an action. Where that is not possible, it stays reachable and says why. */
export function act(label, name, { backup, danger, why, after } = {}) {
    const reason = admin() ? why : document.getElementById(NO_ADMIN)?.textContent || _("This needs administrative access.");

    return button(label, () => !reason && perform(ACTIONS[name](backup), after), {
        "data-action": name, "data-key": `${name} ${backup ? backup.name : ""}`, class: danger ? "danger" : null,
        "aria-disabled": reason ? "true" : null, title: reason || null, "aria-describedby": reason && !admin() ? NO_ADMIN : null
    });
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
            name && h("div", { class: "field" }, h("label", { for: name.id }, _("Name (empty: an automatic one, which retention removes in time)")), name),
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
