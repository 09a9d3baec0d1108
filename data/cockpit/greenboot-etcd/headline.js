/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The answer of `status`: is the data protected; if not, why, and the way out. Then the present state, and the effect of
 * the next boot on the data.
 */
import { h, icon, replace, fact, with_commands } from "./dom.js";
import { _, say, short, system, tell, is_told, date, duration, number, size, word } from "./words.js";
import { trouble, button } from "./dialog.js";
import { act, many } from "./actions.js";

const ANSWERS = {
    protected: () => _("Protected"),
    "not-protected": ({ covered, reason }) => covered ? say("Partly protected: $0. Not protected: $1", covered, reason) : say("Not protected: $0", reason),
    "needs-you": ({ steps, hint, reason }) => say("Needs you: $0", (steps?.length ? reason : hint) || reason)
};

function next_boot(next) {
    const who = system(next.deployment);
    const rewinds = [next.revision === null ? null : say("to revision $0", number(next.revision)),
        next.age === null ? null : say("by $0", duration(next.age))].filter(Boolean).join(" ");

    switch (next.action) {
    case null:
        return say("unknown: $0", short(next.reason) || _("the program gives no reason"));
    case "restore":
        return say("$0 boots, and etcd goes back $1, to the backup $2.", who, rewinds, short(next.backup));
    case "hold":
        return say("$0 boots, and etcd is held back.", who);
    case "fresh":
        return say("$0 boots, and etcd starts without data.", who);
    case "backup":
        return say("$0 boots, and keeps the data, after a backup.", who);
    default:
        return say("$0 boots, and keeps the data.", who);
    }
}

const first_lines = ({ protection, etcd }) => [protection.reason, protection.hint, protection.safe, protection.steps || [], etcd.reason];

/* The state of etcd, if the first lines do not tell it. */
const etcd_now = ({ protection, etcd }) => [protection.reason, protection.hint].some(text => text?.includes(etcd.reason)) ? null : short(etcd.reason);

/* The same as `status` on a terminal: with steps, why it is safe to wait, if that is known; else what to do. */
function way_out({ state, reason, hint, safe, steps }, first) {
    if (state === "protected")
        return null;
    const more = steps?.length ? safe : [reason, hint].find(text => text && !first.includes(text));

    return [more ? h("p", { class: "hint" }, with_commands(short(more))) : null,
        steps?.length ? h("ol", { class: "steps" }, steps.map(step => h("li", {}, with_commands(step)))) : null];
}

/* Warnings that the first lines do not tell. */
function warnings(status) {
    const texts = [...new Set([...status.warnings, ...status.etcd.warnings])].filter(text => !is_told(text));

    tell(first_lines(status), texts);
    return texts.length ? h("ul", { class: "warnings" }, texts.map(text => h("li", {}, icon("warning"), with_commands(short(text))))) : null;
}

function now(status) {
    return fact(_("System"), status.booted ? h("span", { title: status.booted }, `${system(status.booted)}, ${word(status.verdict)}`) : _("unknown"),
                status.trial ? h("small", {}, _("The update waits for its first good boot.")) : null);
}

function last_operation(last) {
    const reason = last && short(last.reason);

    return last && fact(_("Last"), say("$0, $1", word(last.operation), date(last.started)), h("small", {}, [last.result, reason].filter(Boolean).join(": ")));
}

export function headline(section, { status, failure, offline, request, refresh }) {
    const again = button(_("Ask again"), () => refresh(true), { "data-key": "again", "data-again": true });

    if (!status) {
        replace(section, h("h1", {}, _("There is no answer")), trouble(failure), again);
        return;
    }
    const { protection, next } = status;

    tell(first_lines(status));
    const first = ANSWERS[protection.state](protection);

    replace(section,
            failure ? h("div", {}, trouble(failure), offline ? h("p", { class: "note" }, say("Everything below is as it was at $0.", date(offline))) : null) : null,
            h("div", { class: `answer is-${protection.state}`, "data-state": protection.state }, icon(protection.state),
              h("div", {}, h("h1", {}, with_commands(short(first))), way_out(protection, first),
                status.ostree === false ? h("p", { class: "hint", "data-trouble": "no-ostree" },
                                            _("This is not an ostree system: it has no rollback, and only backups by hand are useful.")) : null)),
            h("dl", { class: "facts" },
              now(status),
              fact(_("etcd"), etcd_now(status) || word(status.etcd.healthy === null ? "cannot-tell" : status.etcd.healthy ? "healthy" : "unhealthy"), h("small", {}, say("Data: $0, $1", status.data.path, size(status.data.size)))),
              fact(_("Backups"), many(status.backups), h("small", { title: status.last_good?.name }, status.last_good
                  ? say("The last good one is $0 old ($1).", duration(status.last_good.age || 0), short(status.last_good.name)) : null)),
              last_operation(status.last_operation),
              fact(_("Next boot"), h("span", { title: next.deployment }, next_boot(next)),
                   request ? [h("small", {}, say("Asked for: $0", short(request))), act(_("Cancel the request"), "cancel", { after: refresh })] : null)),
            warnings(status), again);
}
