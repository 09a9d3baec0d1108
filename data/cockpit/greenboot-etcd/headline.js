/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The answer: is the data protected, and if not, why, and what is there to do. Then what the next boot will do to it.
 */
import { h, icon, replace } from "./dom.js";
import { _, say, short, date, duration, number, size, word } from "./words.js";
import { trouble, button } from "./dialog.js";
import { act, many } from "./actions.js";

const ANSWERS = {
    protected: () => _("Protected"),
    "not-protected": status => status.protection.covered
        ? say("Partly protected: $0. Not protected: $1", status.protection.covered, status.protection.reason)
        : say("Not protected: $0", status.protection.reason),
    "needs-you": status => say("Needs you: $0", status.protection.hint || status.protection.reason)
};

function next_boot(next) {
    const who = short(next.deployment);
    const rewinds = [next.revision === null ? null : say("to revision $0", number(next.revision)),
        next.age === null ? null : say("by $0", duration(next.age))].filter(Boolean).join(" ");

    switch (next.action) {
    case null:
        return say("Nothing is decided: $0.", next.reason || _("unknown"));
    case "restore":
        return say("$0 boots, and etcd goes back $1, to the backup $2.", who, rewinds, short(next.backup));
    case "hold":
        return say("$0 boots, and etcd is held back.", who);
    case "fresh":
        return say("$0 boots, and etcd starts without data.", who);
    case "backup":
        return say("$0 boots, and goes on with the data, after a backup of it.", who);
    default:
        return say("$0 boots, and goes on with the data.", who);
    }
}

const fact = (name, ...value) => h("div", {}, h("dt", {}, name), h("dd", {}, value));

/* A command in the program's sentences, `like this`, is shown as one. */
const with_commands = text => text.split("`").map((part, index) => index % 2 ? h("code", {}, part) : part);

export function headline(section, { status, failure, offline, request, refresh }) {
    const again = button(_("Ask again"), refresh, { "data-key": "again", "data-again": true });

    if (!status) {
        replace(section, h("h1", {}, _("There is no answer")), trouble(failure), again);
        return;
    }
    const state = status.protection.state;
    const last = status.last_operation;

    replace(section,
            failure ? h("div", {}, trouble(failure), offline ? h("p", { class: "note" }, say("Everything below is as it was at $0.", date(offline))) : null) : null,
            h("div", { class: `answer is-${state}`, "data-state": state }, icon(state),
              h("div", {}, h("h1", {}, with_commands(ANSWERS[state](status))),
                state === "not-protected" && status.protection.hint ? h("p", { class: "hint" }, with_commands(status.protection.hint)) : null,
                state === "needs-you" && status.protection.reason ? h("p", { class: "hint" }, with_commands(status.protection.reason)) : null,
                status.ostree === false ? h("p", { class: "hint", "data-trouble": "no-ostree" },
                                            _("This is not an ostree system: nothing here is rolled back, and only backups by hand are of use.")) : null)),
            h("dl", { class: "facts" },
              fact(_("Next boot"), next_boot(status.next),
                   status.next.action && status.next.reason ? h("small", {}, say("Rule $0: $1", status.next.rule, status.next.reason)) : null,
                   request ? [h("small", {}, say("Asked for: $0", short(request))), act(_("Cancel the request"), "cancel", { after: refresh })] : null),
              fact(_("Now"), status.booted ? h("span", { title: status.booted }, short(status.booted)) : _("unknown"),
                   h("small", {}, say("Verdict of this run: $0. On trial: $1.", word(status.verdict),
                                      status.trial === null ? _("unknown") : status.trial ? _("yes") : _("no")))),
              fact(_("etcd"), status.etcd.reason || _("unknown"), h("small", {}, say("Data: $0, $1", status.data.path, size(status.data.size)))),
              fact(_("Backups"), many(status.backups), h("small", { title: status.last_good?.name }, status.last_good
                  ? say("The last good one is $0 old.", duration(status.last_good.age || 0)) : _("There is no good one."))),
              last ? fact(_("Last operation"), say("$0, $1", word(last.operation), date(last.started)),
                          h("small", {}, [last.result, last.reason].filter(Boolean).join(": "))) : null),
            status.warnings.length || status.etcd.warnings.length
                ? h("ul", { class: "warnings" }, [...status.warnings, ...status.etcd.warnings].map(text => h("li", {}, icon("warning"), with_commands(text)))) : null,
            again);
}
