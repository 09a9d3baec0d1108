/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes elements. Text stays text: the page never parses a program's output as HTML.
 */

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes || {})) {
        if (value === null || value === undefined || value === false)
            continue;
        if (name.startsWith("on"))
            element.addEventListener(name.slice(2), value);
        else
            element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
    return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/* Replaces an element's content. The focus stays on the element that has the same data-key. */
export function replace(element, ...children) {
    const key = element.contains(document.activeElement) && document.activeElement.closest("[data-key]")?.dataset.key;

    element.replaceChildren(...children.flat(Infinity).filter(Boolean));
    if (key)
        element.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
}

/* A command in the program's sentences, `like this`, is shown as one. */
export const with_commands = text => text.split("`").map((part, index) => index % 2 ? h("code", {}, part) : part);

/* A name and its value; nothing without a value. */
export const fact = (name, ...value) => value[0] === null || value[0] === undefined ? null : h("div", {}, h("dt", {}, name), h("dd", {}, value));

export const fold = (name, title, ...content) => h("details", { "data-fold": name, "data-key": `fold ${name}` }, h("summary", { "data-key": `summary ${name}` }, title), content);

/* Shapes: a colour alone carries no meaning. Each fills a square of 16 around 0,0. */
const SHAPES = {
    good: [["circle", { r: 7, class: "body" }], ["path", { d: "M-3.5 0.3 L-1 3 L3.8 -2.8", class: "mark" }]],
    unproven: [["circle", { r: 6.2, class: "body hollow" }], ["path", { d: "M-3 0 H3", class: "mark" }]],
    bad: [["path", { d: "M0 -8 L8 0 L0 8 L-8 0 Z", class: "body" }], ["path", { d: "M-2.6 -2.6 L2.6 2.6 M2.6 -2.6 L-2.6 2.6", class: "mark" }]],
    unreadable: [["rect", { x: -6.5, y: -6.5, width: 13, height: 13, class: "body hollow" }],
        ["path", { d: "M-3.5 -3.5 L3.5 3.5", class: "mark" }]],
    restore: [["path", { d: "M-6 -7 L7 0 L-6 7 Z", class: "body" }]],
    warning: [["path", { d: "M0 -7.5 L8 6.5 H-8 Z", class: "body" }], ["path", { d: "M0 -2.5 V2 M0 4 V4.6", class: "mark" }]],
    pin: [["path", { d: "M0 -12 V-7", class: "stem" }], ["circle", { cy: -13, r: 2.6, class: "head" }]],
};
const LIKE = {
    green: "good", red: "bad", none: "unproven", passed: "good", failed: "bad", protected: "good", "not-protected": "warning",
    "needs-you": "bad", "not-applicable": "unproven", "not-rehearsed": "unproven", sound: "good", damaged: "bad",
    "cannot-tell": "unproven", ready: "good", "not-ready": "bad", ok: "good", note: "unproven", unknown: "unproven"
};

export const shape = name => SHAPES[LIKE[name] || name].map(([tag, attributes]) => svg(tag, attributes));

/* The same next to a text that says its meaning. */
export const icon = name => svg("svg", { viewBox: "-9 -9 18 18", class: `icon is-${LIKE[name] || name}`, "aria-hidden": "true" },
    shape(name));
