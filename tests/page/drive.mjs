/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The cases, in the order in which one device lives through them.
 */
import { mkdirSync, readFileSync } from "node:fs";
import {
    Failure, address, axe_source, close, equal, errors, failures, foreign, look_again, looked, matches, port, read, run, tell_end, visit, world
} from "./world.mjs";

const PICTURES = process.env.PICTURES;

mkdirSync(PICTURES, { recursive: true });

const text = (page, selector) => page.textContent(selector).then(words => words.replace(/\s+/g, " ").trim());
const shoot = (page, name, fullPage = true) => page.screenshot({ path: `${PICTURES}/${name}.png`, fullPage });
const state_of = page => page.getAttribute(".answer", "data-state");
/* status gives etcd 0.3 s to answer, which a busy machine may miss. */
async function is_protected(page) {
    for (let n = 0; n < 20 && await state_of(page) !== "protected"; n++)
        await look_again(page);
    equal("state", await state_of(page), "protected");
}
const rows = page => page.locator("#backups tbody tr").count();
const things = (page, name) => page.locator(`#timeline [role=option].is-${name}`).count();
const asked = () => read("asked").split("\n");
/* The questions of the page that change something. */
const changes = () => asked().filter(line => /^--json (backup|restore|undo|pin|unpin|delete|verify|mark|rehearse|prune)\b/.test(line) && !/ -n$/.test(line));
const etcd_state = async () => {
    await world("state");
    return read("state");
};

async function axe(page, what) {
    await page.evaluate(axe_source);
    const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));

    equal(`axe on ${what}`, found.violations.map(one => `${one.id}: ${one.nodes.map(node => node.target.join(" ") + " " + node.failureSummary.split("\n").slice(1).join(";")).slice(0, 3).join(", ")}`).join("; "), "");
    if (!found.passes.length)
        throw new Failure(`axe on ${what}: it looked at nothing`);
}

/* Opens an action's dialog; its plan is what the program says it would do. */
async function begin(page, name, backup) {
    await open_backup(page, backup);
    await page.click(`${backup ? "dialog " : ""}[data-action="${name}"]`);
    await page.waitForSelector("dialog[data-dialog=action]");
    return planned(page);
}

async function planned(page) {
    await page.waitForFunction(() => !document.querySelector("dialog .plan .waiting"));
    return text(page, "dialog .plan");
}

async function open_backup(page, backup) {
    if (!backup)
        return;
    await page.click(`tr[data-backup="${backup}"] th button`);
    await page.waitForFunction(() => document.querySelector("dialog[data-dialog=backup]") && !document.querySelector("dialog .waiting"));
}

/* Confirms, and returns what came of it. */
async function confirm(page, by = () => page.click("[data-confirm]")) {
    await page.waitForSelector("[data-confirm]:not([disabled])");
    await by();
    await page.waitForSelector("dialog [data-result=done], dialog [data-trouble]");
    const result = await text(page, "dialog .dialog-body");

    await looked(page);
    return result;
}

const gone = page => page.waitForFunction(() => !document.querySelector("dialog"));
const shut = async page => {
    await page.click("dialog .dialog-buttons button:last-child");
    await gone(page);
};

const newest = page => page.getAttribute("#backups tbody tr:first-child", "data-backup");

/* Lines of the page with four words or more that another line repeats. The table of backups repeats reasons. */
async function told_twice(page) {
    const lines = await page.evaluate(() => [...document.querySelectorAll("main section:not([hidden])")].flatMap(section => {
        const table = section.querySelector("#backups table");

        table?.toggleAttribute("hidden", true);
        const found = section.innerText.split("\n");

        table?.toggleAttribute("hidden", false);
        return found;
    }));
    const said = lines.map(line => line.trim()).filter(line => (line.match(/[A-Za-z]{2,}/g) || []).length >= 4);

    return said.filter((line, index) => said.some((other, at) => at !== index && other.includes(line))).join("; ");
}

/* Words that belong to a fold: what is visible must not have them. */
const private_words = async page => (await page.evaluate(() => document.querySelector("main").innerText))
    .match(/\b(owner|trial|chain|rule|displaced|take-over|closing record)\b.{0,40}/gi)?.join("; ") || "";

async function plain(page) {
    equal("told twice", await told_twice(page), "");
    equal("private words", await private_words(page), "");
}

/* Each button that is off has its reason in the title and in its description. */
const without_reason = page => page.locator("[data-action]").evaluateAll(all => all.filter(one => one.getAttribute("aria-disabled") === "true")
    .filter(one => !one.title || document.getElementById(one.getAttribute("aria-describedby"))?.textContent !== one.title).map(one => one.dataset.action).join());
const off = (page, name) => page.getAttribute(`main [data-action="${name}"]`, "aria-disabled");
const DAY = 86400;
const clock = seconds => world("clock", String(seconds));

/* ---- the demo's story ---- */

let a_state;
const A = "42.20261127.0";
const B = "43.20261203.0";

await run("story-backup", async () => {
    const page = await visit();

    equal("state", await state_of(page), "not-protected");
    matches("headline", await text(page, "h1"), /^Not protected: there is no good backup$/);
    equal("restore is off", await off(page, "last-good"), "true");
    equal("undo is off", await off(page, "undo"), "true");
    equal("verify is off", await off(page, "verify"), "true");
    equal("rehearse is off", await off(page, "rehearse"), "true");
    equal("reasons", await without_reason(page), "");
    await page.locator("main [data-action=undo]").click({ force: true });
    matches("the reason, after a press", await page.locator("#backups .why:visible").innerText(), /^No restore was made yet\.$/);
    equal("dialogs", await page.locator("dialog").count(), 0);
    for (let n = 0; n < 60 && !/etcd ?healthy/.test(await text(page, "#headline")); n++)
        await look_again(page);
    matches("etcd", await text(page, "#headline"), /healthy, 3\.\d+\.\d+, one member/);
    await plain(page);
    matches("plan", await begin(page, "backup"), /A backup named 42\.20261127\.0_[0-9a-f]{8} will be made\./);
    equal("nothing is done yet", changes().length, 0);
    await page.fill("#backup-name", "before-the-update");
    await page.fill("#backup-text", "the first one");
    await page.press("#backup-text", "Tab");
    matches("plan", await planned(page), /A backup named before-the-update will be made\./);
    matches("result", await confirm(page), /The backup before-the-update was made\..*graded good/);
    await shut(page);
    await is_protected(page);
    equal("headline", await text(page, "h1"), "Protected");
    equal("rows", await rows(page), 1);
    matches("row", await text(page, "#backups tbody tr"), /^before-the-update.*42\.20261127\.0 ?booted.*by hand.*the first one ?good/);
    equal("the only good one stays", (await open_backup(page, "before-the-update"), await page.getAttribute("dialog [data-action=delete]", "aria-disabled")), "true");
    equal("reasons", await without_reason(page), "");
    await shut(page);
    equal("points", await things(page, "good"), 1);
    equal("green runs", await things(page, "green"), 1);
});

await run("story-update", async () => {
    await clock(-3 * DAY - 1200);
    await world("stage");
    const page = await visit();

    a_state = await etcd_state();
    matches("the staged update", await text(page, "#update .facts"), /Staged ?43\.20261203\.0 ?Preflight ?(ready|not ready|unknown).*Rehearsal ?not rehearsed ?Way back ?A failed update brings back the backup that its first boot takes\./);
    equal("the rule is folded", await page.locator("[data-fold=staged][open]").count(), 0);
    matches("the steps", await text(page, "[data-fold=staged]"), /Rule 11: an upgrade ?back up 42\.20261127\.0_[0-9a-f]{8}/);
    matches("next boot", await text(page, "#headline"), /43\.20261203\.0 boots, and keeps the data, after a backup\./);
    await plain(page);
    await shoot(page, "staged");
    await begin(page, "rehearse");
    matches("result", await confirm(page), /The rehearsal: failed.*\/usr\/bin\/etcd/);
    await shut(page);
    matches("rehearsal", await text(page, "#update .facts"), /Rehearsal ?failed/);
    equal("the reason, once", (await text(page, "main")).split("cannot open /usr/bin/etcd").length, 2);
    await world("update_gets_etcd");
    await begin(page, "rehearse");
    matches("result", await confirm(page), /The rehearsal: passed/);
    await shut(page);
    matches("rehearsal", await text(page, "#update .facts"), /Rehearsal ?passed/);
    await clock(-3 * DAY);
    await world("reboot");
    await look_again(page);
    equal("lanes", await page.locator(".lanes li").count(), 2);
    equal("versions", (await page.locator(".lane-name").allTextContents()).join(" "), `${A} ${B}`);
    equal("lanes", (await page.locator(".lane-role").allTextContents()).join(" "), "rollback booted");
    equal("data", await etcd_state(), a_state);
});

await run("story-red", async () => {
    await world("red_run");
    const page = await visit();

    equal("red runs", await things(page, "red"), 1);
    matches("next boot", await text(page, "#headline"), /43\.20261203\.0 boots, and etcd goes back to revision \d+ by \d+ .*, to the backup @1/);
    matches("the way back", await text(page, "#update .facts"), /A rollback to 42\.20261127\.0 restores @1 \(good, .*, revision \d+\)\./);
    matches("the steps", await text(page, "[data-fold=rollback]"), /Rule 10a/);
    await clock(-3 * DAY + 240);
    await world("reboot");
    await world("red_run");
    await look_again(page);
    equal("red runs", await things(page, "red"), 2);
    equal("restores", await things(page, "restore"), 1);
    equal("arrows", await page.locator("#timeline .arrow").count(), 1);
    equal("displaced data", await things(page, "bad"), 1);
});

await run("story-rollback", async () => {
    await clock(-3 * DAY + 480);
    await world("reboot");
    await world("green_run");
    const page = await visit();

    equal("data", await etcd_state(), a_state);
    await is_protected(page);
    matches("last", await text(page, "#headline"), /restore, .*done: /);
    equal("restores", await things(page, "restore"), 2);
    equal("lanes", (await page.locator(".lane-role").allTextContents()).join(" "), "booted rollback");
    matches("why", (await page.locator("#backups tbody tr").allTextContents()).join("; "), /failed update, set aside.*bad/);
    await page.locator("#timeline [role=option].is-restore").last().click();
    matches("what the arrow says", await text(page, ".thing-details"), /^Restore of @\d, at boot/);
    await page.click(".as-list summary");
    await page.locator(".log li").first().waitFor();
    equal("as a list", await page.locator(".log li").count() > 8, true);
    equal("full names in the list", /[0-9a-f]{32}/.test(await text(page, ".log")), false);
    equal("undo is off", await off(page, "undo"), "true");
    matches("why", await page.getAttribute("main [data-action=undo]", "title"), /^The last restore followed a failed update/);
});

await run("timeline-reads", async () => {
    const page = await visit();
    const signs = selector => page.locator(selector).evaluateAll(all => [...new Set(all.map(one => one.dataset.sign))].sort().join());

    equal("a legend for each sign, and for the present run", await signs("#timeline .legend li"),
          [...(await signs("#timeline [role=option]")).split(","), "now"].sort().join());
    const labels = await page.locator("#timeline .when").allTextContents();

    matches("the axis begins with a date", labels[0], /^[A-Z][a-z]{2} \d{1,2}, \d{4}/);
    equal("days", new Set(labels.filter(label => /\d{4}/.test(label)).map(label => label.split(",")[0])).size, 2);
    equal("ticks", await page.locator("#timeline .tick").count(), labels.length);
    await plain(page);
    /* A place in the page's list is the same place for the program. */
    const row = page.locator("#backups tbody tr", { has: page.locator("th button:text-matches('^@')") }).first();

    await world("place", await row.locator("th button").textContent());
    equal("place", read("place"), await row.getAttribute("data-backup"));
});

await run("answer-is-that-of-status", async () => {
    const page = await visit();

    await is_protected(page);
    for (const ask of ["etcd_stops", "etcd_starts"]) {
        await world(ask);
        await look_again(page);
        if (ask === "etcd_starts")
            await is_protected(page);
        await world("status");
        const { protection } = JSON.parse(read("status"));

        equal(`state after ${ask}`, await state_of(page), protection.state);
        matches("the same first line", read("first").replace(/`/g, ""), new RegExp(`^${(await text(page, "h1")).split(":")[0]}`));
        equal("steps", (await page.locator(".answer .steps li").allTextContents()).join("; "), (protection.steps || []).join("; ").replace(/`/g, ""));
        await plain(page);
    }
});

await run("steps-are-numbered", async () => {
    await world("fault", "steps", "status");
    try {
        const page = await visit();

        equal("steps", (await page.locator(".answer ol.steps li").allTextContents()).join("; "), "greenboot-etcd restore @1 --stop; systemctl start etcd");
        equal("told twice", await told_twice(page), "");
    } finally {
        await world("fault");
    }
});

await run("story-undo", async () => {
    await clock(-DAY);
    await world("put", "after/rollback", "kept");
    const page = await visit();
    const before = await etcd_state();

    matches("plan", await begin(page, "restore", "before-the-update"), /The backup before-the-update will be restored\..*The present data will be set aside as/);
    await confirm(page);
    await shut(page);
    if (await etcd_state() === before)
        throw new Failure("the restore changed nothing");
    equal("undo is on", await off(page, "undo"), null);
    matches("plan", await begin(page, "undo"), /The backup @1 will be restored\..*The present data will be set aside as/);
    matches("result", await confirm(page), /The backup .* was restored/);
    await shut(page);
    equal("the data is back", await etcd_state(), before);
    equal("restores", await things(page, "restore"), 4);
    matches("by hand", await page.locator("#timeline [role=option].is-restore").last().getAttribute("aria-label"), /, by hand$/);
    matches("why", (await page.locator("#backups tbody tr").allTextContents()).join("; "), /before restore, set aside/);
    await shoot(page, "story");
});

await run("health-folds", async () => {
    const page = await visit();

    equal("open tables", await page.locator("#health table:visible").count(), 0);
    matches("checks", await text(page, "[data-fold=checks] summary"), /^\d+ checks passed$/);
    matches("not applicable", await text(page, "[data-not-applicable]"), /^Checks that do not apply: .*certificates/);
    equal("they are folded", await page.isVisible("[data-not-applicable]"), false);
    await page.click("[data-fold=checks] summary");
    equal("and open", await page.isVisible("[data-not-applicable]"), true);
});

await run("off-the-device", async () => {
    const page = await visit();

    matches("no store", await text(page, "#offsite"), /^Off the device ?No store is configured/);
    await world("store", "directory");
    await look_again(page);
    matches("proof", await text(page, "#offsite"), /Last proof ?.*\d+ (second|minute)s? ago ?.*revision \d+.*Waiting ?The queue is empty\..*Store ?\/var\/store/);
    await world("store", "unreachable");
    await look_again(page);
    matches("failure", await text(page, "#offsite"), /Waiting ?\d+ snapshot.*Failed ?[A-Z][a-z]{2} \d/);
    await axe(page, "a store that cannot be reached");
    await shoot(page, "offsite");
    await world("store", "none");
    await look_again(page);
    matches("no store", await text(page, "#offsite"), /No store is configured/);
});

await run("in-cockpit", async () => {
    await clock(-7200);
    await world("reboot");
    await world("green_run");
    await clock(0);
    const page = await visit("admin", { url: () => `http://127.0.0.1:${port("admin")}/greenboot-etcd`, wait: false, width: 1360, height: 1000 });
    const frame = page.frameLocator("iframe[name*=greenboot-etcd]");

    await frame.locator(".answer h1").waitFor();
    for (let n = 0; n < 20 && await frame.locator("h1").textContent() !== "Protected"; n++) {
        await frame.locator("[data-again]").click();
        await frame.locator("#page[data-looks]:not([aria-busy=true])").waitFor();
    }
    equal("headline", await frame.locator("h1").textContent(), "Protected");
    matches("menu", await page.textContent("#nav-system, nav"), /etcd backups/);
    await frame.locator("#health .quota").waitFor();
    matches("growth", await frame.locator("#health .growth figcaption").textContent(), /backup by backup: \d+ KiB at first, \d+ KiB now/);
    equal("a point each, and the present size", (await frame.locator("#health .growth polyline").getAttribute("points")).split(" ").length,
          await frame.locator("#backups tbody tr").count() + 1);
    await page.mouse.move(0, 0);
    await shoot(page, "cockpit", false);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForFunction(() => document.querySelector("iframe[name*=greenboot-etcd]").contentDocument.documentElement.classList.contains("dark"));
    await shoot(page, "cockpit-dark", false);
});

/* ---- each button ---- */

await run("cancel-changes-nothing", async () => {
    const page = await visit();
    const before = changes().length;

    for (const name of ["backup", "last-good", "undo", "verify"]) {
        await begin(page, name);
        await shut(page);
    }
    for (const name of ["restore", "verify", "pin", "delete"]) {
        await begin(page, name, "before-the-update");
        await page.keyboard.press("Escape");
        await gone(page);
    }
    equal("changes", changes().length, before);
});

await run("button-backup-stop", async () => {
    const page = await visit();
    const before = await etcd_state();

    await begin(page, "backup");
    await page.check("dialog input[value='1']");
    matches("plan", await planned(page), /will be made/);
    await page.fill("#backup-name", "stopped");
    await page.press("#backup-name", "Tab");
    await planned(page);
    matches("result", await confirm(page), /The backup stopped was made/);
    equal("asked", changes().at(-1), "--json backup --stop stopped");
    equal("data", await etcd_state(), before);
    await shut(page);
    matches("row", await text(page, "tr[data-backup=stopped]"), /good|unproven/);
});

await run("button-pin", async () => {
    const page = await visit();

    matches("plan", await begin(page, "pin", "stopped"), /Retention will never remove stopped/);
    matches("result", await confirm(page), /Retention never removes stopped/);
    await shut(page);
    matches("row", await text(page, "tr[data-backup=stopped]"), /pinned/);
    matches("point", await page.locator("[role=option][aria-label*='Backup stopped']").getAttribute("aria-label"), /pinned/);
    matches("plan", await begin(page, "unpin", "stopped"), /may remove stopped/);
    await confirm(page);
    await shut(page);
    matches("row", await text(page, "tr[data-backup=stopped]"), /^(?!.*pinned)/);
});

await run("button-verify", async () => {
    const page = await visit();

    await begin(page, "verify", "stopped");
    matches("result", await confirm(page), /stopped: sound/);
    await shut(page);
    await begin(page, "verify");
    matches("result", await confirm(page), /before-the-update: sound.*|stopped: sound/);
});

await run("button-restore", async () => {
    const page = await visit();

    await world("put", "after/backup", "lost");
    const before = await etcd_state();

    matches("plan", await begin(page, "restore", "stopped"), /The backup stopped will be restored\..*Lost by it/);
    matches("result", await confirm(page), /The backup stopped was restored/);
    await shut(page);
    if (await etcd_state() === before)
        throw new Failure("the restore changed nothing");
    matches("last", await text(page, "#headline"), /restore, /);
});

await run("button-restore-next-boot", async () => {
    const page = await visit();

    await begin(page, "restore", "stopped");
    await page.check("dialog input[value='1']");
    matches("plan", await planned(page), /At the next boot, before etcd starts, the backup stopped will be restored/);
    matches("result", await confirm(page), /The next boot restores the backup stopped/);
    await shut(page);
    matches("request", await text(page, "#headline"), /Asked for: stopped/);
    await begin(page, "cancel");
    matches("result", await confirm(page), /The request is cancelled/);
    await shut(page);
    matches("request", await text(page, "#headline"), /^(?!.*Asked for)/);
});

await run("button-last-good", async () => {
    const page = await visit();

    matches("plan", await begin(page, "last-good"), /will be restored/);
    matches("result", await confirm(page), /was restored/);
});

await run("button-delete", async () => {
    const page = await visit();
    const before = await rows(page);

    matches("plan", await begin(page, "delete", "stopped"), /stopped will be deleted permanently/);
    matches("result", await confirm(page), /stopped was deleted/);
    await shut(page);
    equal("rows", await rows(page), before - 1);
});

await run("button-diagnose", async () => {
    const page = await visit();
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("[data-action=diagnose]")]);
    const bytes = readFileSync(await download.path());

    matches("name", download.suggestedFilename(), /^greenboot-etcd-[0-9-]+\.tar\.gz$/);
    equal("gzip", bytes.subarray(0, 2).toString("hex"), "1f8b");
    matches("said", await text(page, "#support [data-result=done]"), /KiB$/);
});

await run("stop-long-work", async () => {
    const page = await visit();

    await begin(page, "verify");
    await world("fault", "slow", "verify");
    await page.click("[data-confirm]");
    await page.waitForSelector("dialog progress");
    await page.waitForSelector("dialog .working span:not(:empty)");
    await page.keyboard.press("Escape");
    equal("Escape leaves it", await page.locator("dialog").count(), 1);
    await page.click("[data-stop]");
    await page.waitForSelector("dialog [data-trouble=ended]");
    await world("fault");
    await shut(page);
});

await run("without-admin", async () => {
    /* Without root, the program reads the answers that root's last look left. */
    await world("green_run");
    const page = await visit("limited");
    const before = changes().length;
    const reason = await text(page, "#needs-admin");

    matches("reason", reason, /changes need administrative access/);
    await is_protected(page);
    equal("rows", await rows(page) > 0, true);
    equal("told twice", await told_twice(page), "");
    matches("timeline", await text(page, "#timeline"), /Runs and restores are shown with administrative access/);
    await page.click("tr[data-backup='before-the-update'] th button");
    await page.waitForFunction(() => document.querySelectorAll("[data-action]").length >= 10);
    const names = await page.locator("[data-action]").evaluateAll(all => all.map(one => one.dataset.action));

    for (const name of ["backup", "last-good", "undo", "verify", "rehearse", "diagnose", "restore", "pin", "delete"])
        equal(`${name} is there`, names.includes(name), true);
    equal("reasons", await page.locator("[data-action]").evaluateAll((all, why) => all.filter(one =>
        one.getAttribute("aria-disabled") !== "true" || one.title.replace(/\s+/g, " ") !== why || one.getAttribute("aria-describedby") !== "needs-admin").map(one => one.dataset.action).join(), reason), "");
    for (const button of await page.locator("dialog [data-action]").all())
        await button.click({ force: true });
    await page.keyboard.press("Escape");
    await gone(page);
    for (const button of await page.locator("main [data-action]").all())
        await button.click({ force: true });
    equal("dialogs", await page.locator("dialog").count(), 0);
    equal("changes", changes().length, before);
    await axe(page, "the page without administrative access");
    await shoot(page, "limited");
});

/* ---- failures ---- */

async function fails(name, kind, fault, says) {
    await run(`failure-${name}`, async () => {
        await world("fault", ...fault);
        try {
            const page = await visit();

            await page.waitForSelector(`[data-trouble=${kind}]`);
            matches("says", await text(page, `[data-trouble=${kind}]`), says);
            await axe(page, name);
            await world("fault");
            await look_again(page);
            await is_protected(page);
        } finally {
            await world("fault");
        }
    });
}

await fails("killed", "ended", ["killed", "status"], /greenboot-etcd status was ended before it could answer.*Ask again/);
await fails("unreadable", "unreadable", ["unreadable", "status"], /The answer of greenboot-etcd status is unreadable/);
await fails("newer", "newer", ["newer", "status"], /answers in format 2, and this page reads format 1.*Update cockpit-greenboot-etcd/);
await fails("old", "old", ["old", "status"], /does not know “status”.*Update greenboot-etcd/);
await fails("old-verb", "old", ["old", "log"], /does not know “log”/);
await fails("list-killed", "ended", ["killed", "list"], /greenboot-etcd list was ended/);
await fails("health-unreadable", "unreadable", ["unreadable", "health"], /greenboot-etcd health is unreadable/);

await run("failure-missing", async () => {
    await world("program", "missing");
    try {
        const page = await visit();

        matches("says", await text(page, "[data-trouble=missing]"), /greenboot-etcd is not installed on this device\..*Install the package/);
        await axe(page, "a device without the program");
        await world("program", "there");
        await look_again(page);
        await is_protected(page);
    } finally {
        await world("program", "there");
    }
});

await run("failure-later", async () => {
    const page = await visit();

    await world("fault", "killed", "status");
    await look_again(page);
    matches("says", await text(page, "#headline"), /was ended before it could answer.*Everything below is as it was at/);
    equal("the rest stays", await page.isVisible("#backups .toolbar"), true);
    await world("fault");
});

await run("failure-offline", async () => {
    const page = await visit();

    await world("offline", "admin");
    try {
        await page.waitForSelector("[data-trouble=offline]");
        matches("says", await text(page, "#headline"), /There is no connection to the device\..*Everything below is as it was at/);
        await shoot(page, "offline");
    } finally {
        await world("server", "admin");
    }
});

await run("failure-no-ostree", async () => {
    await world("no_ostree");
    const page = await visit();

    matches("says", await text(page, "[data-trouble=no-ostree]"), /This is not an ostree system/);
    await world("ostree");
});

await run("failure-etcd-down", async () => {
    await world("etcd_stops");
    const page = await visit();

    equal("state", await state_of(page), "needs-you");
    matches("headline", await text(page, "h1"), /^Needs you: etcd is not healthy/);
    matches("checks", await text(page, "#health table"), /endpoint answers ?failed/);
    equal("told twice", await told_twice(page), "");
    await axe(page, "a device without etcd");
    await shoot(page, "needs-you");
    await world("etcd_starts");
});

await run("failure-damaged", async () => {
    const page = await visit();

    await world("damage", "before-the-update");
    await begin(page, "verify", "before-the-update");
    matches("result", await confirm(page), /before-the-update: damaged.*member\/snap\/db: /);
    await shut(page);
    matches("row", await text(page, "tr[data-backup='before-the-update']"), /bad/);
    await open_backup(page, "before-the-update");
    equal("restore is off", await page.getAttribute("dialog [data-action=restore]", "aria-disabled"), "true");
    equal("reasons", await without_reason(page), "");
    matches("why", await page.getAttribute("dialog [data-action=restore]", "title"), /graded bad/);
});

await run("failure-unreadable-backup", async () => {
    await world("unreadable", "before-the-update");
    const page = await visit();

    matches("row", await text(page, "tr[data-backup='before-the-update']"), /unreadable/);
    await open_backup(page, "before-the-update");
    matches("why", await text(page, "dialog"), /Its manifest is unreadable/);
    equal("restore", await page.getAttribute("dialog [data-action=restore]", "aria-disabled"), "true");
});

/* ---- who cannot see, has no mouse, or a small screen ---- */

for (const dark of [false, true])
    await run(`axe${dark ? "-dark" : ""}`, async () => {
        const page = await visit("admin", { dark });

        await axe(page, "the page");
        await page.click(".as-list summary");
        await page.locator("details:not([open]) summary").evaluateAll(all => all.forEach(one => one.click()));
        await axe(page, "the page with all open");
        await open_backup(page, await newest(page));
        await axe(page, "a backup's dialog");
        await shoot(page, `backup${dark ? "-dark" : ""}`, false);
        await shut(page);
        await begin(page, "undo");
        await axe(page, "an action's dialog");
        await shoot(page, `undo${dark ? "-dark" : ""}`, false);
        await shut(page);
        await shoot(page, `page${dark ? "-dark" : ""}`);
    });

for (const dark of [false, true])
    await run(`narrow${dark ? "-dark" : ""}`, async () => {
        const page = await visit("admin", { width: 360, height: 740, dark });
        const wide = () => page.evaluate(() => Math.max(document.documentElement.scrollWidth, ...[...document.querySelectorAll("dialog")].map(one => one.scrollWidth)));

        equal("width", await wide(), 360);
        await axe(page, "a narrow page");
        await shoot(page, `narrow${dark ? "-dark" : ""}`);
        const height = await page.evaluate(() => document.documentElement.scrollHeight);

        if (!(height > 740 && height <= 2500))
            throw new Failure(`the page is ${height} px high, 2500 are allowed`);
        await begin(page, "undo");
        equal("width", await wide(), 360);
        const box = await page.locator("dialog").boundingBox();

        equal("the dialog fits", box.x >= 0 && box.x + box.width <= 360, true);
        await shoot(page, `narrow-undo${dark ? "-dark" : ""}`, false);
    });

await run("dark-follows-cockpit", async () => {
    const page = await visit("admin", { dark: true });
    const is_dark = () => page.evaluate(() => document.documentElement.classList.contains("dark"));

    equal("as the system prefers", await is_dark(), true);
    await page.evaluate(() => window.dispatchEvent(new CustomEvent("cockpit-style", { detail: { style: "light" } })));
    equal("as Cockpit says", await is_dark(), false);
});

await run("keyboard", async () => {
    const page = await visit();
    const press = key => page.keyboard.press(key);
    const focused = name => page.evaluate(attribute => document.activeElement?.getAttribute(attribute), name);
    /* Tab, until the focus is where it should be. */
    const tab_to = async selector => {
        for (let n = 0; n < 80; n++) {
            if (await page.evaluate(wanted => document.activeElement?.matches(wanted), selector))
                return;
            await press("Tab");
        }
        throw new Failure(`Tab never comes to ${selector}`);
    };

    await tab_to("#timeline [role=option]");
    await press("Home");
    matches("first", await focused("aria-label"), /^Run of /);
    await press("ArrowRight");
    matches("second", await focused("aria-label"), /^Backup /);
    await press("ArrowDown");
    const lane = await focused("aria-label");

    await press("ArrowUp");
    if (lane === await focused("aria-label"))
        throw new Failure("ArrowUp and ArrowDown stay in the lane");
    await press("End");
    while (!/^Backup/.test(await focused("aria-label")))
        await press("ArrowLeft");
    await press("Enter");
    await page.waitForSelector("dialog[data-dialog=backup]");
    await press("Escape");
    await gone(page);
    matches("the focus comes back", await focused("role"), /^option$/);
    await tab_to("[data-action=backup]");
    await press("Enter");
    await page.waitForSelector("dialog[data-dialog=action]");
    await tab_to("#backup-name");
    await page.keyboard.type("by-keyboard");
    await tab_to("input[type=radio]");
    await planned(page);
    await page.waitForSelector("[data-confirm]:not([disabled])");
    await tab_to("[data-confirm]");
    matches("result", await confirm(page, () => press("Enter")), /The backup by-keyboard was made/);
    await press("Enter");
    await gone(page);
    await tab_to("tr[data-backup=by-keyboard] button");
    await press("Enter");
    await page.waitForSelector("dialog[data-dialog=backup]");
    await tab_to("dialog [data-action=delete]");
    await press("Enter");
    await page.waitForSelector("[data-confirm]:not([disabled])");
    await tab_to("[data-confirm]");
    matches("result", await confirm(page, () => press("Enter")), /by-keyboard was deleted/);
    await press("Escape");
    /* Each thing that a mouse can press, Tab comes to. */
    const all = await page.locator("main button, main summary, main a[href], main input").count();
    const seen = new Set();

    await page.evaluate(() => {
        document.activeElement?.blur();
        window.scrollTo(0, 0);
    });
    for (let n = 0; n < all + 5; n++) {
        await press("Tab");
        seen.add(await page.evaluate(() => [...document.querySelectorAll("main button, main summary, main a[href], main input")].indexOf(document.activeElement)));
    }
    seen.delete(-1);
    equal("reached", seen.size, all);
});

await run("translatable", async () => {
    const page = await visit("admin", { wait: false, url: "about:blank" });

    await page.route("**/po.js", route => route.fulfill({
        contentType: "text/javascript",
        body: "cockpit.gettext = (context, text) => `⟦${text ?? context}⟧`; cockpit.ngettext = (one, many, n) => `⟦${n === 1 ? one : many}⟧`;"
    }));
    await page.goto(address("admin"));
    await looked(page);
    await open_backup(page, await newest(page));
    const plain = () => page.evaluate(() => [...document.querySelectorAll("h1, h2:not(dialog[data-dialog=backup] h2), h3, th[scope=col], dt, caption, legend, label, summary, button:not(.link), p, .legend li, [aria-label]:not([role=option])")]
            .filter(one => one.offsetParent && /[a-z]{3}/.test(one.getAttribute("aria-label") || one.textContent) && !/⟦/.test(one.getAttribute("aria-label") || one.textContent))
            .filter(one => !one.closest(".quota p, .full-name, .grade, .answer .hint, .thing-details p"))
            .map(one => `${one.tagName} ${one.getAttribute("aria-label") || one.textContent}`).join("; "));

    equal("not translated", await plain(), "");
    await page.keyboard.press("Escape");
    await begin(page, "undo");
    equal("not translated", await plain(), "");
    await page.unroute("**/po.js");
});

/* ---- figures, and what must not be ---- */

await run("many", async () => {
    await world("many");
    await world("fault", "many");
    try {
        const page = await visit("admin", { wait: false, url: "about:blank" });
        const cdp = await page.context().newCDPSession(page);

        /* The processor's time, not the clock's: other programs use this machine. */
        await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
        await page.goto(address("admin"));
        await looked(page);
        const spent = (await cdp.send("Performance.getMetrics")).metrics.find(one => one.name === "ScriptDuration").value * 1000;

        await cdp.send("Performance.disable");
        equal("troubles", await page.locator("[data-trouble]").count(), 0);
        equal("rows", await rows(page), 20);
        equal("lanes", await page.locator(".lanes li").count() <= 5, true);
        equal("things", await page.locator("#timeline [role=option]").count() <= 150, true);
        console.log(`# 1,000 backups and 200 runs: ${spent.toFixed(0)} ms of script, from nothing to the whole page`);
        if (!(spent > 1 && spent < 200))
            throw new Failure(`${spent} ms of script, 200 are allowed`);
        await page.setViewportSize({ width: 360, height: 740 });
        await look_again(page);
        const height = await page.evaluate(() => document.documentElement.scrollHeight);

        if (!(height > 740 && height <= 2500))
            throw new Failure(`the page of 1,000 backups is ${height} px high, 2500 are allowed`);
        await shoot(page, "many-narrow");
        await page.click("[data-older]");
        equal("things", await page.locator("#timeline [role=option]").count(), 1000 + 200 + 20);
        await page.click("[data-all]");
        equal("all rows", await rows(page), 1000);
        await page.evaluate(() => window.scrollTo(0, 0));
        await shoot(page, "many", false);
    } finally {
        await world("fault");
    }
});

await run("only-cockpits-own-requests", async () => {
    equal("other requests", foreign.join(" "), "");
    equal("pages were visited", asked().length > 50, true);
});

await run("can-fail", async () => {
    const page = await visit();
    const fails = async (what, body) => {
        let failed = false;

        await body().catch(() => { failed = true });
        equal(`${what} can fail`, failed, true);
    };

    await fails("equal", async () => equal("one", 1, 2));
    await fails("matches", async () => matches("one", "1", /2/));
    await page.evaluate(() => document.querySelector("main").append(document.createElement("input")));
    await fails("axe", () => axe(page, "a field without a label"));
    await page.evaluate(() => document.querySelector("#headline .body").append(...["p", "p"].map(() => Object.assign(document.createElement("p"), { textContent: "This rule is told to every owner." }))));
    await fails("told twice", async () => equal("twice", await told_twice(page), ""));
    await fails("private words", async () => equal("words", await private_words(page), ""));
    await world("server", "limited");
    await page.goto(address("limited"));
    equal("a foreign request is seen", foreign.length > 0, true);
    errors.length = 0;
});

await close();
tell_end();
process.exitCode = failures() ? 1 : 0;
process.stdin.destroy();
