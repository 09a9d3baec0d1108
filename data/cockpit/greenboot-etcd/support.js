/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The archive of `diagnose`, as a download for support.
 */
import { h, replace } from "./dom.js";
import { _, size } from "./words.js";
import { archive, admin } from "./program.js";
import { button, progress, trouble } from "./dialog.js";
import { NO_ADMIN } from "./actions.js";

export function support(section) {
    const said = h("div", { "aria-live": "polite" });

    async function collect() {
        if (!admin())
            return;
        replace(said, progress(_("Collecting…")));
        try {
            const bytes = await archive();
            const name = `greenboot-etcd-${new Date().toISOString().slice(0, 19).replace(/[:T]/g, "-")}.tar.gz`;
            const url = URL.createObjectURL(new Blob([bytes], { type: "application/gzip" }));

            h("a", { href: url, download: name }).click();
            window.setTimeout(() => URL.revokeObjectURL(url), 60000);
            replace(said, h("p", { role: "status", "data-result": "done" }, `${name}, ${size(bytes.length)}`));
        } catch (error) {
            replace(said, trouble(error));
        }
    }
    replace(section, h("p", {}, _("One archive for support, without keys, values, certificates and passwords. Read it before you share it.")),
            button(_("Download the diagnosis"), collect, {
                "data-action": "diagnose", "data-key": "diagnose", "aria-disabled": admin() ? null : "true",
                title: admin() ? null : document.getElementById(NO_ADMIN)?.textContent, "aria-describedby": admin() ? null : NO_ADMIN
            }), said);
}
