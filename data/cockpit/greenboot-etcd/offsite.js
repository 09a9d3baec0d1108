/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Snapshots off the device: the last one that was read back and found sound, the queue, and the last failure.
 */
import { h, icon, replace, fact } from "./dom.js";
import { _, say, count, date, duration, number, size } from "./words.js";

const snapshot = (name, at, revision) => [name, h("small", {}, [date(at), revision === null ? null : say("revision $0", number(revision))].filter(Boolean).join(", "))];

export function offsite(section, { offsite: store }) {
    if (!store) {
        replace(section, h("p", { class: "empty" }, _("No store is configured: all backups are on this device.")));
        return;
    }
    replace(section,
            store.damaged ? h("p", { class: "notice is-bad" }, icon("bad"), say("The snapshot $0 in the store is damaged.", store.damaged)) : null,
            h("dl", { class: "facts" },
              fact(_("Last proof"), h("span", {}, icon(store.trouble ? "bad" : store.proved ? "good" : "unproven"),
                                      store.proved ? say("$0 ago", duration(store.proved_age || 0)) : _("No snapshot was read back yet.")),
                   store.proved ? h("small", {}, snapshot(store.proved, store.proved_at, store.proved_revision)) : null),
              fact(_("Waiting"), store.waiting ? count("$0 snapshot", "$0 snapshots", store.waiting) : _("The queue is empty."),
                   store.waiting_newest ? h("small", {}, say("The newest is $0.", store.waiting_newest)) : null),
              store.failed_at ? fact(_("Failed"), h("span", {}, icon("bad"), date(store.failed_at)), h("small", {}, store.failed)) : null,
              store.pushed && store.pushed !== store.proved ? fact(_("Last push"), ...snapshot(store.pushed, store.pushed_at, store.pushed_revision)) : null,
              fact(_("Store"), store.store, store.size === null ? null : h("small", {}, size(store.size)))));
}
