/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backups as a table, newest first, and one of them as a dialog with all that can be done with it.
 */
import { h, icon, replace } from "./dom.js";
import { _, say, short, date, number, size, word } from "./words.js";
import { ask } from "./program.js";
import { act, many } from "./actions.js";
import { button, dialog, trouble, waiting } from "./dialog.js";

const SHOWN = 100;
let all = false;

const cell = (name, ...content) => h("td", { role: "cell", "data-name": name, class: content[0] === "–" ? "none" : null }, content);

const graded = backup => [icon(backup.grade), h("span", {}, word(backup.grade)),
    backup.pinned ? h("span", { class: "badge" }, _("pinned")) : null, backup.set_aside ? h("span", { class: "badge" }, _("set aside")) : null];

function row(backup, open) {
    return h("tr", { role: "row", "data-backup": backup.name },
             h("th", { scope: "row", role: "rowheader" }, button(short(backup.name), () => open(backup), {
                 class: "link", title: backup.name, "data-key": `open ${backup.name}`, "aria-haspopup": "dialog"
             }), backup.description ? h("small", {}, backup.description) : null),
             cell(_("Grade"), graded(backup)),
             cell(_("Deployment"), backup.present ? word(backup.present) : _("unknown")),
             cell(_("When"), date(backup.created)),
             cell(_("Revision"), number(backup.revision)),
             cell(_("Size"), size(backup.size), backup.exclusive === null || backup.exclusive === undefined ? null
                 : h("small", {}, say("$0 of its own", size(backup.exclusive)))));
}

export function backups(section, { list, failure, status, open, refresh }) {
    if (failure) {
        replace(section, trouble(failure));
        return;
    }
    const shown = all ? list : list.slice(0, SHOWN);
    const none = list.length ? null : _("There is no backup.");
    const head = [_("Name"), _("Grade"), _("Deployment"), _("When"), _("Revision"), _("Size")];

    replace(section,
            h("div", { class: "toolbar" },
              act(_("Back up now"), "backup", { after: refresh }),
              act(_("Restore the last good one"), "last-good", { after: refresh, why: status && !status.last_good ? _("There is no good backup.") : null }),
              act(_("Undo the last restore"), "undo", { after: refresh }),
              act(_("Verify all"), "verify", { after: refresh, why: none })),
            none ? h("p", { class: "empty" }, none) : h("table", { role: "table" },
                h("caption", {}, many(list.length)),
                h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head.map(text => h("th", { scope: "col", role: "columnheader" }, text)))),
                h("tbody", { role: "rowgroup" }, shown.map(backup => row(backup, open)))),
            shown.length < list.length ? button(say("Show all $0", number(list.length)), () => {
                all = true;
                backups(section, { list, failure, status, open, refresh });
            }, { "data-key": "all", "data-all": true }) : null);
}

const fact = (name, value) => value === null || value === undefined ? null : h("div", {}, h("dt", {}, name), h("dd", {}, value));

/* One backup: the facts of `show`, and its buttons. */
export function backup_dialog(backup, refresh) {
    const { body, buttons, close } = dialog(short(backup.name), "backup");
    const known = h("div", {}, waiting());
    const unreadable = backup.grade === "unreadable" ? say("Its manifest cannot be read: $0", backup.why || _("unknown")) : null;
    const action = (label, name, more) => act(label, name, { backup, after: refresh, ...more });

    replace(body,
            h("p", { class: "full-name" }, backup.name), backup.description ? h("p", {}, backup.description) : null,
            h("p", { class: "grade" }, graded(backup)),
            unreadable ? h("p", {}, unreadable) : h("dl", { class: "facts" },
                fact(_("Deployment"), `${short(backup.deployment) || _("unknown")} ${backup.present ? `(${word(backup.present)})` : ""}`),
                fact(_("Made"), `${date(backup.created)}, ${word(backup.origin)}`), fact(_("Revision"), number(backup.revision)),
                fact(_("etcd"), backup.etcd_version), fact(_("Size"), size(backup.size)),
                fact(_("Space of its own"), backup.exclusive === null ? null : size(backup.exclusive))),
            known,
            h("div", { class: "toolbar" },
              action(_("Restore…"), "restore", { why: unreadable, danger: true }), action(_("Verify…"), "verify", { why: unreadable }),
              backup.pinned ? action(_("Unpin…"), "unpin") : action(_("Pin…"), "pin", { why: unreadable }),
              action(_("Delete…"), "delete", { danger: true })));
    replace(buttons, button(_("Close"), close));
    if (unreadable)
        replace(known);
    else
        ask(["show", backup.name]).then(shown => replace(known, h("dl", { class: "facts" },
            fact(_("Why this grade"), shown.grade_reason), fact(_("Verified"), shown.verified), fact(_("Place"), shown.path))))
                .catch(error => replace(known, trouble(error)));
}
