/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dialogs of the browser: it keeps the focus inside, and returns it at the end.
 */
import { h, icon, replace } from "./dom.js";
import { _, duration, say } from "./words.js";

let serial = 0;

/* Closes an open dialog. Returns {body, buttons, close, hold}; while hold(true), Escape does not close it. */
export function dialog(title, kind) {
    const id = `dialog-${++serial}`;
    const body = h("div", { class: "dialog-body" });
    const buttons = h("div", { class: "dialog-buttons" });
    const element = h("dialog", { "aria-labelledby": id, class: kind, "data-dialog": kind }, h("h2", { id }, title), body, buttons);
    let held = false;

    document.querySelectorAll("dialog").forEach(other => other.close());
    element.addEventListener("cancel", event => held && event.preventDefault());
    /* A browser lets a second Escape through. */
    element.addEventListener("close", () => held ? element.showModal() : element.remove());
    document.body.append(element);
    element.showModal();
    return { element, body, buttons, close: () => element.close(), hold: on => { held = on } };
}

export const button = (label, onclick, more) => h("button", { type: "button", onclick, ...more }, label);

/* A trouble: the fault, and the next step. */
export function trouble(error) {
    return h("div", { class: "notice is-bad", role: "alert", "data-trouble": error.kind || "page" }, icon("bad"),
             h("div", {}, h("strong", {}, error.message), error.hint ? h("p", {}, error.hint) : null));
}

/* Work of unknown length: its name, and the time so far. */
export function progress(label) {
    const seconds = h("span", {});
    const element = h("div", { class: "working" }, h("progress", { "aria-label": label }),
                      h("p", { role: "status" }, label), seconds);
    const began = Date.now();
    const timer = window.setInterval(() => {
        if (!element.isConnected)
            window.clearInterval(timer);
        replace(seconds, say("$0 so far", duration((Date.now() - began) / 1000)));
    }, 1000);

    return element;
}

export const waiting = () => h("p", { class: "waiting", role: "status" }, _("Asking greenboot-etcd…"));
