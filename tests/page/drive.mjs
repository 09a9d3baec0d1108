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

/* ---- the demo's story ---- */

let a_state, b_state, update_id;

await run("story-backup", async () => {
    const page = await visit();

    equal("state", await state_of(page), "not-protected");
    matches("headline", await text(page, "h1"), /^Not protected: there is no good backup$/);
    for (let n = 0; n < 60 && !/etcd ?healthy/.test(await text(page, "#headline")); n++)
        await look_again(page);
    matches("etcd", await text(page, "#headline"), /healthy, leader, 1 member/);
    matches("plan", await begin(page, "backup"), /A backup named fedora-iot-[0-9a-f]{12}….0_[0-9a-f]{8}… will be made\./);
    equal("nothing is done yet", changes().length, 0);
    await page.fill("#backup-name", "before-the-update");
    await page.fill("#backup-text", "by hand");
    await page.press("#backup-text", "Tab");
    matches("plan", await planned(page), /A backup named before-the-update will be made\./);
    matches("result", await confirm(page), /The backup before-the-update was made\..*graded good/);
    await shut(page);
    await is_protected(page);
    equal("headline", await text(page, "h1"), "Protected");
    equal("rows", await rows(page), 1);
    matches("row", await text(page, "#backups tbody tr"), /before-the-update ?by hand ?good ?booted/);
    equal("points", await things(page, "good"), 1);
    equal("green runs", await things(page, "green"), 1);
});

await run("story-update", async () => {
    await world("stage");
    const page = await visit();

    a_state = await etcd_state();
    update_id = await page.getAttribute("#update [title^=fedora-iot]", "title");
    matches("the staged update", await text(page, "#update"), /If fedora-iot-[0-9a-f]{12}….0 boots next: an upgrade Rule 11 ?back up fedora-iot/);
    matches("rehearsal", await text(page, "#update"), /No update was rehearsed/);
    matches("rollback", await text(page, "#update"), /There is no old system to go back to/);
    await world("reboot");
    await look_again(page);
    equal("lanes", await page.locator(".lanes li").count(), 2);
    equal("lanes", (await page.locator(".lane-role").allTextContents()).join(" "), "rollback booted");
    equal("data", await etcd_state(), a_state);
});

await run("story-red", async () => {
    await world("red_run");
    const page = await visit();

    b_state = await etcd_state();
    equal("red runs", await things(page, "red"), 1);
    matches("next boot", await text(page, "#headline"), /etcd goes back to revision \d+ by \d+ .*, to the backup fedora-iot-/);
    matches("the way back", await text(page, "#update"), /boots next: the update failed; the data from before it is restored Rule 10a/);
    await world("reboot");
    await world("red_run");
    await look_again(page);
    equal("red runs", await things(page, "red"), 2);
    equal("restores", await things(page, "restore"), 1);
    equal("arrows", await page.locator("#timeline .arrow").count(), 1);
    equal("displaced data", await things(page, "bad"), 1);
});

await run("story-rollback", async () => {
    await world("reboot");
    await world("green_run");
    const page = await visit();

    equal("data", await etcd_state(), a_state);
    await is_protected(page);
    matches("last", await text(page, "#headline"), /restore, .*done: the update failed; the data from before it is restored/);
    equal("restores", await things(page, "restore"), 2);
    equal("lanes", (await page.locator(".lane-role").allTextContents()).join(" "), "booted rollback");
    await page.locator("#timeline [role=option].is-restore").last().click();
    matches("what the arrow says", await text(page, ".thing-details"), /^Restore of fedora-iot-.*, at boot/);
    await page.click(".as-list summary");
    await page.locator(".log li").first().waitFor();
    matches("as a list", await text(page, ".log"), /has the data, restored from fedora-iot-.*The run is red/);
});

await run("story-undo", async () => {
    const page = await visit();

    matches("plan", await begin(page, "undo"), /will be put in the data's place\..*This will be lost: .*The present data will be kept as/);
    equal("nothing is done yet", await etcd_state(), a_state);
    matches("result", await confirm(page), /was put in the data's place/);
    await shut(page);
    equal("B's data is back", (await etcd_state()).replace(/revision=\d+ /, "").split(" ").slice(1).join(), b_state.replace(/revision=\d+ /, "").split(" ").slice(1).join());
    if (await etcd_state() === a_state)
        throw new Failure("undo changed nothing");
    equal("restores", await things(page, "restore"), 3);
    matches("by hand", await page.locator("#timeline [role=option].is-restore").last().getAttribute("aria-label"), /, by hand$/);
    await begin(page, "undo");
    await confirm(page);
    await shut(page);
    equal("A's data again", await etcd_state(), a_state);
    await shoot(page, "story");
});

await run("in-cockpit", async () => {
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
    equal("a point each, and now", (await frame.locator("#health .growth polyline").getAttribute("points")).split(" ").length,
          await frame.locator("#backups tbody tr").count() + 1);
    await shoot(page, "cockpit", false);
    await page.emulateMedia({ colorScheme: "dark" });
    await page.waitForFunction(() => document.querySelector("iframe[name*=greenboot-etcd]").contentDocument.documentElement.classList.contains("dark"));
    await shoot(page, "cockpit-dark", false);
});

/* ---- each button ---- */

await run("cancel-changes-nothing", async () => {
    const page = await visit();
    const before = changes().length;

    for (const name of ["backup", "last-good", "undo", "verify", "rehearse"]) {
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

    matches("plan", await begin(page, "restore", "stopped"), /The backup stopped will be put in the data's place\..*This will be lost/);
    matches("result", await confirm(page), /The backup stopped was put in the data's place/);
    await shut(page);
    if (await etcd_state() === before)
        throw new Failure("the restore changed nothing");
    matches("last", await text(page, "#headline"), /restore, /);
});

await run("button-restore-next-boot", async () => {
    const page = await visit();

    await begin(page, "restore", "stopped");
    await page.check("dialog input[value='1']");
    matches("plan", await planned(page), /At the next boot, before etcd starts, the backup stopped will be put/);
    matches("result", await confirm(page), /The next boot puts the backup stopped in the data's place/);
    await shut(page);
    matches("request", await text(page, "#headline"), /Asked for: stopped/);
    await begin(page, "cancel");
    matches("result", await confirm(page), /The request is cancelled/);
    await shut(page);
    matches("request", await text(page, "#headline"), /^(?!.*Asked for)/);
});

await run("button-last-good", async () => {
    const page = await visit();

    matches("plan", await begin(page, "last-good"), /will be put in the data's place/);
    matches("result", await confirm(page), /was put in the data's place/);
});

await run("button-delete", async () => {
    const page = await visit();
    const before = await rows(page);

    matches("plan", await begin(page, "delete", "stopped"), /stopped will be deleted for good/);
    matches("result", await confirm(page), /stopped is deleted/);
    await shut(page);
    equal("rows", await rows(page), before - 1);
});

await run("button-rehearse", async () => {
    const page = await visit();

    await begin(page, "rehearse");
    matches("result", await confirm(page), /no deployment staged/);
    await shut(page);
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
    /* Without root, the program says what root's last look has left. */
    await world("green_run");
    const page = await visit("limited");
    const before = changes().length;
    const reason = await text(page, "#needs-admin");

    matches("reason", reason, /changes need administrative access/);
    await is_protected(page);
    equal("rows", await rows(page) > 0, true);
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
await fails("unreadable", "unreadable", ["unreadable", "status"], /The answer of greenboot-etcd status cannot be read/);
await fails("newer", "newer", ["newer", "status"], /answers in format 2, and this page reads format 1.*Update cockpit-greenboot-etcd/);
await fails("old", "old", ["old", "status"], /does not know “status”.*Update greenboot-etcd/);
await fails("old-verb", "old", ["old", "log"], /does not know “log”/);
await fails("list-killed", "ended", ["killed", "list"], /greenboot-etcd list was ended/);
await fails("health-unreadable", "unreadable", ["unreadable", "health"], /greenboot-etcd health cannot be read/);

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
    matches("headline", await text(page, "h1"), /^Needs you: mend etcd/);
    matches("members", await text(page, "#health"), /endpoint answers ?failed/);
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
    matches("plan", await begin(page, "restore", "before-the-update"), /before-the-update/);
    equal("it cannot be confirmed", await page.locator("[data-confirm]").isDisabled(), true);
    matches("why", await text(page, "dialog [data-trouble=refused]"), /bad/);
});

await run("failure-unreadable-backup", async () => {
    await world("unreadable", "before-the-update");
    const page = await visit();

    matches("row", await text(page, "tr[data-backup='before-the-update']"), /unreadable/);
    await open_backup(page, "before-the-update");
    matches("why", await text(page, "dialog"), /Its manifest cannot be read/);
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
    matches("result", await confirm(page, () => press("Enter")), /by-keyboard is deleted/);
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

        /* The processor's time, not the clock's: others use this machine, too. */
        await cdp.send("Performance.enable", { timeDomain: "threadTicks" });
        await page.goto(address("admin"));
        await looked(page);
        const spent = (await cdp.send("Performance.getMetrics")).metrics.find(one => one.name === "ScriptDuration").value * 1000;

        await cdp.send("Performance.disable");
        equal("troubles", await page.locator("[data-trouble]").count(), 0);
        equal("things", await page.locator("#timeline [role=option]").count(), 1000 + 200 + 20);
        equal("rows", await rows(page), 100);
        console.log(`# 1,000 backups and 200 runs: ${spent.toFixed(0)} ms of script, from nothing to the whole page`);
        if (!(spent > 1 && spent < 200))
            throw new Failure(`${spent} ms of script, 200 are allowed`);
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
    await world("server", "limited");
    await page.goto(address("limited"));
    equal("a foreign request is seen", foreign.length > 0, true);
    errors.length = 0;
});

await close();
tell_end();
process.exitCode = failures() ? 1 : 0;
process.stdin.destroy();
