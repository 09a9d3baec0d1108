/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The update and the way back, and their effect on the data: explain for the staged and for the rollback deployment, and
 * the rehearsal's answer.
 */
import { h, icon, replace } from "./dom.js";
import { _, say, short, date, word } from "./words.js";
import { ask } from "./program.js";
import { trouble, waiting } from "./dialog.js";
import { act } from "./actions.js";

const actions = list => h("ol", {}, list.map(action => h("li", {}, word(action.action), " ", h("span", { title: action.name }, short(action.name)),
    action.reason ? h("small", {}, short(action.reason)) : null,
    action.command ? h("small", {}, _("By hand: "), h("code", { title: action.command }, short(action.command))) : null)));

function decision(answer) {
    return [h("p", {}, say("If $0 boots next:", short(answer.deployment) || _("it")), " ", h("strong", {}, short(answer.reason) || "–"),
              " ", h("small", {}, say("Rule $0", [answer.rule, ...answer.also].join(", ")))),
    answer.hold ? h("p", { class: "notice is-bad" }, icon("bad"), _("etcd would be held back.")) : null,
    answer.actions.length ? actions(answer.actions) : h("p", {}, _("The data stays as it is.")),
    answer.branches.length ? h("details", {}, h("summary", {}, _("If a backup does not validate")), answer.branches.map(branch =>
        [h("p", {}, say("If $0:", short(branch.if)), " ", short(branch.reason)), actions(branch.actions)])) : null];
}

function explained(element, which, none) {
    replace(element, waiting());
    return ask(["explain", `--booted=${which}`]).then(answer => replace(element, decision(answer)))
            .catch(error => replace(element, error.kind === "refused" && error.code === 1 ? h("p", { class: "empty" }, none, " ", h("small", {}, error.message)) : trouble(error)));
}

function rehearsed(rehearsal) {
    if (!rehearsal)
        return h("p", { class: "empty" }, _("No update was rehearsed."));
    return [h("p", { class: "grade" }, icon(rehearsal.result), h("strong", {}, word(rehearsal.result)), " ",
              say("etcd $0 to $1, $2", rehearsal.from || "?", rehearsal.to || "?", date(rehearsal.at))),
    rehearsal.reason ? h("p", {}, rehearsal.reason) : null,
    rehearsal.goes_back === false ? h("p", {}, rehearsal.goes_back_reason) : null,
    rehearsal.locked ? h("p", { class: "notice is-bad" }, icon("bad"), _("The update is locked: it does not boot.")) : null];
}

export function update(section, { status, refresh }) {
    const staged = h("div", {});
    const rollback = h("div", {});

    replace(section, h("h3", {}, _("The staged update")), staged, h("h3", {}, _("Its rehearsal")), rehearsed(status?.rehearsal),
            h("div", { class: "toolbar" }, act(_("Rehearse the update"), "rehearse", { after: refresh })),
            h("h3", {}, _("Back to the old system")), rollback);
    return Promise.all([explained(staged, "staged", _("No update is staged.")), explained(rollback, "rollback", _("There is no old system to go back to."))]);
}
