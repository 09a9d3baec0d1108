/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Dark where Cockpit is dark: its setting is auto, light or dark, and auto is what the system prefers.
 */
const prefers = window.matchMedia("(prefers-color-scheme: dark)");

function follow(style) {
    const chosen = style || localStorage.getItem("shell:style") || "auto";

    document.documentElement.classList.toggle("dark", chosen === "dark" || chosen === "auto" && prefers.matches);
}

export function theme() {
    prefers.addEventListener("change", () => follow());
    window.addEventListener("storage", event => event.key === "shell:style" && follow());
    window.addEventListener("cockpit-style", event => follow(event.detail?.style));
    follow();
}
