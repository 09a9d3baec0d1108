/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backups as a table, newest first, and one backup as a dialog with its actions.
 */
import { h, icon, replace, fact } from "./dom.js";
import { _, say, short, system, handle, reason, date, number, size, word } from "./words.js";
import { ask } from "./program.js";
import { act, many } from "./actions.js";
import { button, dialog, trouble, waiting } from "./dialog.js";
import { no_undo } from "./story.js";

/* As many as a small screen has room for. */
const SHOWN = () => window.innerWidth > 700 ? 20 : 2;
let all = false;

const cell = (name, ...content) => h("td", { role: "cell", "data-name": name, class: content[0] === "–" ? "none" : null }, content);

const graded = backup => [icon(backup.grade), h("span", {}, word(backup.grade)),
    backup.pinned ? h("span", { class: "badge" }, _("pinned")) : null];

const unshared = backup => backup.exclusive === null || backup.exclusive === undefined ? null : say("$0 not shared", size(backup.exclusive));

function row(backup, open) {
    return h("tr", { role: "row", "data-backup": backup.name },
             h("th", { scope: "row", role: "rowheader" }, button(handle(backup.name), () => open(backup), {
                 class: "link", title: backup.name, "data-key": `open ${backup.name}`, "aria-haspopup": "dialog"
             })),
             cell(_("When"), date(backup.created)),
             cell(_("From"), backup.deployment ? h("span", { title: backup.deployment }, system(backup.deployment)) : _("unknown"),
                  backup.present ? h("small", {}, word(backup.present)) : null),
             cell(_("Why"), reason(backup), backup.description ? h("small", {}, backup.description) : null),
             cell(_("Grade"), graded(backup)),
             cell(_("Revision"), number(backup.revision)),
             cell(_("Size"), size(backup.size), h("small", {}, unshared(backup))));
}

export function backups(section, options) {
    const { list, failure, log, status, open, refresh } = options;

    if (failure) {
        replace(section, trouble(failure));
        return;
    }
    const shown = all ? list : list.slice(0, SHOWN());
    const none = list.length ? null : _("The list of backups is empty.");
    const head = [_("Name"), _("When"), _("From"), _("Why"), _("Grade"), _("Revision"), _("Size")];

    replace(section,
            h("div", { class: "toolbar" },
              act(_("Back up now"), "backup", { after: refresh }),
              act(_("Restore last good"), "last-good", { after: refresh, why: status && !status.last_good ? _("A good backup is missing.") : null }),
              act(_("Undo the restore"), "undo", { after: refresh, why: no_undo(log, list) }),
              act(_("Verify all"), "verify", { after: refresh, why: none })),
            none ? h("p", { class: "empty" }, none) : h("table", { role: "table" },
                h("caption", {}, shown.length < list.length ? say("The newest $0 of $1", number(shown.length), many(list.length)) : many(list.length)),
                h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head.map(text => h("th", { scope: "col", role: "columnheader" }, text)))),
                h("tbody", { role: "rowgroup" }, shown.map(backup => row(backup, open)))),
            shown.length < list.length ? button(say("Show all $0", number(list.length)), () => {
                all = true;
                backups(section, options);
            }, { "data-key": "all", "data-all": true }) : null);
}

/* The reasons why an action on a backup would be refused. */
function refusals(backup, list, unreadable) {
    const good = list.filter(one => one.grade === "good" && !one.consumed);

    return {
        restore: unreadable || (backup.grade === "bad" ? _("This backup is graded bad: its data may be the reason for a failure.") : null),
        delete: backup.pinned ? _("This backup is pinned. Unpin it first.")
            : good.length === 1 && good[0] === backup ? _("This is the only good backup. Make another one first.") : null
    };
}

/* One backup: the facts of `show`, and its buttons. */
export function backup_dialog(backup, list, refresh) {
    const { body, buttons, close } = dialog(say("Backup $0", short(backup.name)), "backup");
    const known = h("div", {}, waiting());
    const unreadable = backup.grade === "unreadable" ? say("Its manifest is unreadable: $0", backup.why || _("unknown")) : null;
    const why = refusals(backup, list, unreadable);
    const action = (label, name, more) => act(label, name, { backup, after: refresh, ...more });

    replace(body,
            h("p", { class: "full-name" }, backup.name), backup.description ? h("p", {}, backup.description) : null,
            h("p", { class: "grade" }, graded(backup)),
            unreadable ? h("p", {}, unreadable) : h("dl", { class: "facts" },
                fact(_("From"), backup.deployment ? `${system(backup.deployment)}${backup.present ? ` (${word(backup.present)})` : ""}` : _("unknown")),
                fact(_("When"), date(backup.created)), fact(_("Why"), reason(backup)), fact(_("Revision"), number(backup.revision)),
                fact(_("etcd"), backup.etcd_version), fact(_("Size"), size(backup.size), h("small", {}, unshared(backup)))),
            known,
            h("div", { class: "toolbar" },
              action(_("Restore…"), "restore", { why: why.restore, danger: true }), action(_("Verify…"), "verify", { why: unreadable }),
              backup.pinned ? action(_("Unpin…"), "unpin") : action(_("Pin…"), "pin", { why: unreadable }),
              action(_("Delete…"), "delete", { why: why.delete, danger: true })));
    replace(buttons, button(_("Close"), close));
    if (unreadable)
        replace(known);
    else
        ask(["show", backup.name]).then(shown => replace(known, h("dl", { class: "facts" },
            fact(_("Why this grade"), shown.grade_reason), fact(_("Verified"), shown.verified), fact(_("Path"), shown.path))))
                .catch(error => replace(known, trouble(error)));
}
