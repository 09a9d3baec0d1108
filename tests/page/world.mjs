/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The browser, the world that page.sh keeps, and cases with a line each.
 */
import { createRequire } from "node:module";
import { readFileSync, openSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const WORLD = process.env.WORLD;
const require = createRequire(`${process.env.TOOLS}/`);
const { chromium } = require("playwright-core");
export const axe_source = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const asks = openSync(`${WORLD}/asks`, "r+");
const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/* world("stage"): page.sh's function ask_stage. */
export async function world(...words) {
    writeSync(asks, `${WORLD}/answers ${words.join(" ")}\n`);
    if ((await answers.next()).done)
        throw new Failure("the world is gone");
}

export const tell_end = () => writeSync(asks, "- end\n");
export const read = name => readFileSync(`${WORLD}/${name}`, "utf8").trim();

/* One request that is not Cockpit's own would be in here. */
export const foreign = [];
export const errors = [];

const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-background-networking"]
});

export const close = () => browser.close();
export const port = who => read(`${who}.port`);
export const address = who => `http://127.0.0.1:${port(who)}/cockpit/@localhost/greenboot-etcd/index.html`;

/* One window for all cases: a new one costs the machine as much as seven visits. */
const context = await browser.newContext({ locale: "en-US", timezoneId: "UTC", acceptDownloads: true });
const page = await context.newPage();
let own = "";
let server = "";

page.setDefaultTimeout(90000);
for (const kind of ["request", "websocket"])
    page.on(kind, thing => {
        const url = new URL(thing.url());

        if (!["blob:", "data:", "about:"].includes(url.protocol) && url.host !== own)
            foreign.push(thing.url());
    });
page.on("pageerror", error => errors.push(String(error.stack || error)));
page.on("console", message => message.type() === "error" && !/404|Failed to load|WebSocket/.test(message.text()) && errors.push(message.text()));

/* Loads the page, and waits for its first look. */
export async function visit(who = "admin", { width = 1280, height = 900, dark = false, wait = true, url } = {}) {
    if (who !== server) {
        await world("server", who);
        /* A cookie is of a host, whatever the port: that of the other server would be in the way. */
        await context.clearCookies();
        server = who;
    }
    own = `127.0.0.1:${port(who)}`;
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
    await page.goto(typeof url === "function" ? url() : url || address(who));
    if (wait)
        await looked(page);
    return page;
}

/* Until the page has looked as often as it was asked to. */
export async function looked(page) {
    await page.waitForFunction(() => {
        const { looks, wanted } = document.getElementById("page")?.dataset || {};

        return looks && looks === wanted;
    });
}

export async function look_again(page) {
    await page.click("[data-again]");
    await looked(page);
}

/* ---- cases ---- */

let passed = 0;
let failed = 0;
/* CASE: patterns, with a comma between. */
const pattern = new RegExp(`^(${(process.env.CASE || "*").replace(/[.+^$()|[\]{}\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".").replace(/,/g, "|")})$`);

export class Failure extends Error {}

export function equal(what, got, wanted) {
    if (got !== wanted)
        throw new Failure(`${what}: ${JSON.stringify(got)}, expected ${JSON.stringify(wanted)}`);
}

export function matches(what, got, wanted) {
    if (!wanted.test(got))
        throw new Failure(`${what}: ${JSON.stringify(got)}, expected ${wanted}`);
}

export async function run(name, body) {
    if (!pattern.test(name))
        return;
    errors.length = 0;
    const began = Date.now();

    try {
        await body();
        equal("errors of the page", errors.join("; "), "");
        passed++;
        console.log(`ok ${name}`);
    } catch (error) {
        failed++;
        console.log(`not ok ${name}: ${String(error.message).split("\n")[0]}`);
        console.error(`---- ${name}: ${error.stack}\n${errors.join("\n")}`);
    }
    console.error(`${name}: ${Date.now() - began} ms`);
}

export const failures = () => failed;
