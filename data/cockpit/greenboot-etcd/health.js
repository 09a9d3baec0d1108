/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * etcd's health: the database against its quota, the checks, the members and the certificates. Everything that is as it
 * should be is folded; problems are open.
 */
import { h, svg, icon, replace, fold } from "./dom.js";
import { _, say, short, is_told, date, number, size, word, count } from "./words.js";
import { ask } from "./program.js";
import { trouble, waiting } from "./dialog.js";

const cell = (name, ...content) => h("td", { role: "cell", "data-name": name, class: content[0] === "–" ? "none" : null }, content);

function table(caption, head, rows) {
    return h("table", { role: "table" }, h("caption", {}, caption),
             h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, head.map(text => h("th", { scope: "col", role: "columnheader" }, text)))),
             h("tbody", { role: "rowgroup" }, rows));
}

const first = content => h("th", { scope: "row", role: "rowheader" }, content);
const line = (...cells) => h("tr", { role: "row" }, cells);

const WIDTH = 480;
const HEIGHT = 60;
const POINTS = 200;

/* The size in each backup, oldest first, and the present size. The top is the largest size: a quota may be far above. */
function growth(health, list) {
    const sizes = list.filter(backup => typeof backup.db_size === "number").sort((a, b) => a.sequence - b.sequence)
        .slice(1 - POINTS).map(backup => backup.db_size).concat(health.db_size);
    const top = Math.max(...sizes);
    const place = (one, index) => `${index * WIDTH / (sizes.length - 1)},${HEIGHT - one / top * HEIGHT}`;

    if (sizes.length < 2 || !top)
        return null;
    return fold("growth", _("Growth of the database"), h("figure", { class: "growth" },
             svg("svg", { viewBox: `0 -2 ${WIDTH} ${HEIGHT + 4}`, preserveAspectRatio: "none", "aria-hidden": "true" },
                 svg("polyline", { points: sizes.map(place).join(" ") })),
             h("figcaption", {}, say("Size of the database, backup by backup: $0 at first, $1 now, at most $2", size(sizes[0]), size(health.db_size), size(top)))));
}

function database(health, list) {
    const quota = health.steps.find(step => step.step === "quota");

    if (!quota || quota.figure === null || health.db_size === null)
        return null;
    return h("div", { class: "quota" }, h("label", { for: "quota" }, _("Database against its quota")),
             h("meter", { id: "quota", min: 0, max: 100, high: quota.limit, value: quota.figure }, `${quota.figure} %`), growth(health, list));
}

function checks(caption, list) {
    return table(caption, [_("Check"), _("Result"), _("Figure"), _("Limit"), _("Detail")], list.map(step =>
        line(first(word(step.step)), cell(_("Result"), icon(step.result), word(step.result)), cell(_("Figure"), number(step.figure)),
             cell(_("Limit"), number(step.limit)), cell(_("Detail"), step.detail && !is_told(step.detail) ? short(step.detail) : "–"))));
}

/* Checks that do not apply have their names only. */
function steps(health) {
    const of = (...results) => health.steps.filter(step => results.includes(step.result));
    const open = of("warning", "failed");
    const passed = of("passed");
    const others = of("not-applicable");

    return [open.length ? checks(_("Checks that need attention"), open) : null,
        fold("checks", count("$0 check passed", "$0 checks passed", passed.length), passed.length ? checks(_("Checks of etcd"), passed) : null,
             others.length ? h("p", { "data-not-applicable": true }, say("Checks that do not apply: $0.", others.map(step => word(step.step)).join(", "))) : null)];
}

function members(cluster) {
    const title = say("Members: $0 of $1 voters work, $2 are needed", cluster.working, cluster.voters, cluster.quorum);
    const all = table(title, [_("Member"), _("State"), _("Version"), _("Database"), _("Entries to apply"), _("May stop now")], cluster.members.map(member =>
        line(first(member.name || member.id), cell(_("State"), icon(member.works === false ? "bad" : member.works ? "good" : "unproven"),
                                                   word(member.state), member.why && !is_told(member.why) ? h("small", {}, member.why) : null),
             cell(_("Version"), member.version || "–"), cell(_("Database"), size(member.db_size)), cell(_("Entries to apply"), number(member.lag)),
             cell(_("May stop now"), member.may_stop ? _("yes") : _("no"), member.stop_refused ? h("small", {}, member.stop_refused) : null))));

    return cluster.members.length > 1 || cluster.members.some(member => !member.works) ? all : fold("members", count("$0 member", "$0 members", cluster.members.length), all);
}

function certificates(certs) {
    const list = certs.certificates;
    const all = table(_("Certificates"), [_("Subject"), _("Ends"), _("File"), _("Remark")], list.map(one =>
        line(first(one.subject), cell(_("Ends"), icon(one.problem ? "warning" : "good"), date(one.not_after),
                                      one.days_left === null ? null : h("small", {}, one.days_left < 0 ? _("expired") : count("$0 day left", "$0 days left", one.days_left))),
             cell(_("File"), one.path), cell(_("Remark"), one.problem || "–"))));

    return list.some(one => one.problem) ? all : list.length ? fold("certificates", count("$0 certificate", "$0 certificates", list.length), all) : null;
}

/* Each part shows its own trouble. */
function part(element, args, show) {
    replace(element, waiting());
    return ask(args).then(answer => replace(element, show(answer))).catch(error => replace(element, trouble(error)));
}

export async function health(section, list) {
    const parts = [h("div", {}), h("div", {}), h("div", {})];

    replace(section, parts);
    section.setAttribute("aria-busy", "true");
    await Promise.all([
        part(parts[0], ["health"], answer => [
            h("p", { class: "grade" }, icon(answer.healthy ? "good" : answer.healthy === false ? "bad" : "unproven"),
              answer.reason && !is_told(answer.reason) ? short(answer.reason) : word(answer.health)),
            database(answer, list), steps(answer)]),
        part(parts[1], ["cluster", "status"], members),
        part(parts[2], ["certs", "list"], certificates)]);
    section.removeAttribute("aria-busy");
}
