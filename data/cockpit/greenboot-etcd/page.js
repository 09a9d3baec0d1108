/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The page: its parts, the moments when each is drawn again, and the troubles of asking the program.
 */
import { h, replace } from "./dom.js";
import { _, learn } from "./words.js";
import { ask, admin, on_admin, on_lost, Trouble } from "./program.js";
import { trouble } from "./dialog.js";
import { NO_ADMIN } from "./actions.js";
import { theme } from "./theme.js";
import { headline } from "./headline.js";
import { timeline } from "./timeline.js";
import { backups, backup_dialog } from "./backups.js";
import { health } from "./health.js";
import { update } from "./update.js";
import { offsite } from "./offsite.js";
import { support } from "./support.js";

const cockpit = window.cockpit;
const EVERY = 15000;

const page = document.getElementById("page");
const part = (id, title) => {
    const body = h("div", { class: "body" });

    return { element: h("section", { id, "aria-labelledby": title ? `${id}-title` : null, "aria-label": title ? null : _("Answer") },
                        title ? h("h2", { id: `${id}-title` }, title) : null, body), body };
};
const parts = {
    headline: part("headline"), update: part("update", _("Update")), timeline: part("timeline", _("History of the data")),
    backups: part("backups", _("Backups")), offsite: part("offsite", _("Off the device")), health: part("health", _("Health of etcd")),
    support: part("support", _("Support"))
};
const limited = h("p", { id: NO_ADMIN, class: "note", hidden: true });

/*
 * The answers that each part last showed. A part with the same answers is not drawn again, so that it keeps its focus and
 * its open lists. Ages, and figures that change while etcd works, concern the headline alone.
 */
const shown = {};
const known = { status: null, at: null };
let working = null;

function news(name, ...answers) {
    const now = [admin(), ...answers].map(one => one instanceof Error ? one.message : one);
    const changed = !shown[name] || now.some((one, index) => one !== shown[name][index]);

    shown[name] = now;
    return changed;
}

/* A status without the ages, which grow. */
const lasting = part => JSON.stringify(part, (key, value) => key === "age" ? null : value);

const settled = async promise => {
    try {
        return { answer: await promise };
    } catch (error) {
        return { error: error instanceof Trouble ? error : new Trouble("page", _("This page has an error."), String(error)) };
    }
};

function draw_backups(status, log, list) {
    if (log.error?.kind === "refused" && !admin())
        log.error = new Trouble("access", log.error.message, log.error.hint);
    const open = backup => backup_dialog(backup, list.answer, refresh);

    timeline(parts.timeline.body, { log: log.answer, log_trouble: log.error, list: list.answer || [], status, open });
    backups(parts.backups.body, { list: list.answer || [], failure: list.error, log: log.answer, status, open, refresh });
}

async function look() {
    const [{ answer: status, error }, list, log] = await Promise.all([settled(ask(["status"])), settled(ask(["list"])), settled(ask(["log"]))]);

    limited.toggleAttribute("hidden", admin() !== false);
    replace(limited, _("You can look, but not change: changes need administrative access. Turn it on at the top of the window."));
    for (const name of Object.keys(parts))
        parts[name].element.toggleAttribute("hidden", name !== "headline" && !(status || known.status));
    if (error) {
        headline(parts.headline.body, { status: known.status, failure: error, offline: known.at, refresh });
        delete shown.headline;
        return;
    }
    known.status = status;
    known.at = Date.now() / 1000;
    learn(list.answer, status, status.deployments || [], log.answer || []);
    const request = log.answer && pending(log.answer);

    if (news("headline", lasting(status), request))
        headline(parts.headline.body, { status, request, refresh });
    if (news("support"))
        support(parts.support.body);

    const begun = [];

    if (news("backups", list.answer, list.error, log.answer, log.error, status.run, status.booted, lasting(status.last_good))) {
        draw_backups(status, log, list);
        /* To count the bytes that each does not share takes a while with many backups. */
        if (admin() && list.answer?.length)
            begun.push(settled(ask(["list", "--exclusive"])).then(counted => counted.answer && draw_backups(status, log, counted)));
    }
    if (news("offsite", lasting(status.offsite)))
        offsite(parts.offsite.body, status);
    if (news("update", list.answer, status.booted, lasting(status.next), lasting(status.rehearsal), lasting(status.protection)))
        begun.push(update(parts.update.body, { status, list: list.answer || [], refresh }));
    if (news("health", list.answer, status.run, status.etcd.healthy, lasting(status.etcd.alarms), lasting(status.etcd.warnings)))
        begun.push(health(parts.health.body, list.answer || []));
    await Promise.all(begun);
}

/* The restore that the next boot will make, from the ledger; null: no request waits. */
function pending(log) {
    return log.reduce((asked, event) => event.kind === "request" ? event.record.backup ?? event.record.name ?? event.text
        : event.kind === "request-ended" ? null : asked, null);
}

/* One look at a time; a request during a look gets the next one. all: each part is drawn again. */
function refresh(all) {
    const run = async () => {
        page.setAttribute("aria-busy", "true");
        if (all)
            Object.keys(shown).forEach(name => delete shown[name]);
        try {
            await look();
        } catch (error) {
            replace(parts.headline.body, trouble(new Trouble("page", _("This page has an error."), String(error.stack || error))));
        }
        page.removeAttribute("aria-busy");
        page.dataset.looks = Number(page.dataset.looks || 0) + 1;
    };

    page.dataset.wanted = Number(page.dataset.wanted || 0) + 1;
    working = (working || Promise.resolve()).then(run);
    return working;
}

theme();
document.title = _("etcd backups");
document.documentElement.lang = (cockpit.language || "en").replace("_", "-");
replace(page, limited, Object.values(parts).map(({ element }) => element));
for (const name of Object.keys(parts))
    if (name !== "headline")
        parts[name].element.setAttribute("hidden", "");
replace(parts.headline.body, h("p", { class: "waiting", role: "status" }, _("Asking greenboot-etcd…")));
on_lost(() => refresh());
on_admin(() => refresh());
/* Cockpit tells later whether it has administrative access: then on_admin() looks. */
if (admin() !== null)
    refresh();
window.setInterval(() => !document.hidden && !cockpit.hidden && !document.querySelector("dialog") && refresh(), EVERY);
