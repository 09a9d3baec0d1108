/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The picture of the data's history. A lane is a deployment, a bar a run that had the data, a point on it a
 * backup, an arrow a restore. From left to right is the order in which it happened, not the clock's: a device without
 * a battery may boot in 1970. One stop of the Tab key; the arrow keys go from thing to thing.
 */
import { h, svg, shape, icon, replace } from "./dom.js";
import { _, say, short, size, date, word, count, number } from "./words.js";
import { story, role } from "./story.js";
import { button, trouble } from "./dialog.js";

const LANE = 48;
const STEP = 22;
const GAP = 10;
const TOP = 26;

const grade_of = backup => [word(backup.grade), backup.pinned ? _("pinned") : null].filter(Boolean).join(", ");

function label_of(thing, run) {
    if (thing.kind === "restore")
        return say("Restore of $0, $1", short(thing.from), thing.by_hand ? _("by hand") : _("at boot"));
    if (thing.kind === "backup")
        return say("Backup $0, $1, $2", short(thing.backup.name), grade_of(thing.backup), date(thing.backup.created));
    return [say("Run of $0", run.deployment ? short(run.deployment) : _("an unknown deployment")), word(run.verdict),
        run.now ? _("now") : null, run.begun ? date(run.begun) : null,
        run.marks.length ? count("$0 backup or restore", "$0 backups and restores", run.marks.length) : null].filter(Boolean).join(", ");
}

/* One thing that can be reached. Its place is that of its middle. */
function option(index, place, label, name, ...children) {
    return svg("g", {
        role: "option", tabindex: -1, id: `thing-${index}`, "data-index": index, "aria-label": label, "aria-selected": "false",
        transform: `translate(${place.x} ${place.y})`, class: `thing is-${name}`
    }, svg("title", {}, label), ...children);
}

/* It leaves and arrives upright, past the words in the bars; within a lane it goes over what is between. */
function arrow(from, to) {
    const way = Math.sign(to.y - from.y);
    const begin = from.y + (way || -1) * 9;
    const end = to.y - (way || 1) * 10;
    const middle = way ? (begin + end) / 2 : end - 18;

    return svg("path", { class: "arrow", d: `M${from.x} ${begin} C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${end}` });
}

/* Everything in its place: {things: [{run, mark, x, y, element}], picture}. */
function draw(data) {
    const lanes = new Map(data.lanes.map((lane, index) => [lane, TOP + index * LANE + LANE / 2]));
    const things = [];
    const bars = [];
    const arrows = [];
    const labels = [];
    const places = new Map();
    let x = GAP;
    let labelled = -Infinity;

    for (const run of data.runs) {
        const said = word(run.verdict);
        const head = 18 + said.length * 7.5;
        const width = head + run.marks.length * STEP;
        const y = lanes.get(run.deployment);
        const add = (mark, place, element) => things.push({ run, mark, ...place, element });
        const state = run.verdict === "none" ? "unproven" : run.verdict;

        run.end = { x: x + width, y };
        add(null, { x, y }, option(things.length, { x, y }, label_of({}, run), state,
                                   svg("rect", { class: "bar", x: 0, y: -14, width, height: 28, rx: 5 }),
                                   svg("text", { class: "verdict", x: 8, y: 4 }, said),
                                   run.now && svg("rect", { class: "now", x: 0, y: 17, width, height: 3, rx: 1.5 })));
        run.marks.forEach((mark, index) => {
            const place = { x: x + head + 8 + index * STEP, y };
            const name = mark.kind === "restore" ? "restore" : mark.backup.grade;

            if (mark.kind === "restore") {
                const from = places.get(mark.from) || data.made.get(mark.from)?.end;

                if (from)
                    arrows.push(arrow(from, place));
            } else {
                places.set(mark.backup.name, place);
            }
            add(mark, place, option(things.length, place, label_of(mark, run), name, svg("circle", { class: "target", r: 10 }),
                                    shape(name), mark.backup?.pinned ? shape("pin") : null));
        });
        if (run.begun && x - labelled > 170) {
            labels.push(svg("text", { x, y: 14, class: "when" }, date(run.begun)));
            labelled = x;
        }
        bars.push(svg("path", { class: "tie", d: `M${x + width} ${y} h${GAP}` }));
        x += width + GAP;
    }

    const height = TOP + data.lanes.length * LANE;
    const width = Math.max(x, labelled + 150);
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "presentation" },
                        data.lanes.map((lane, index) => svg("rect", {
                            class: index % 2 ? "lane odd" : "lane", x: 0, y: TOP + index * LANE, width, height: LANE
                        })),
                        labels, bars, things.filter(thing => !thing.mark).map(thing => thing.element), arrows,
                        things.filter(thing => thing.mark).map(thing => thing.element));

    return { things, picture };
}

const fact = (name, value) => value === null || value === undefined ? null : h("div", {}, h("dt", {}, name), h("dd", {}, value));

function details(thing, open) {
    const { run, mark } = thing;

    if (!mark)
        return [h("h3", {}, icon(run.verdict), label_of({}, run)), h("dl", { class: "facts" },
            fact(_("Verdict"), word(run.verdict) + (run.by_hand ? ` (${_("by hand")})` : "")), fact(_("etcd"), word(run.health)),
            fact(_("Ended in order"), run.ended && date(run.ended)), fact(_("Run"), run.id && h("span", { title: run.id }, run.id.slice(0, 8))))];
    if (mark.kind === "restore")
        return [h("h3", {}, icon("restore"), label_of(mark, run)), h("p", {}, short(mark.text)), h("p", {}, date(mark.time))];
    const backup = mark.backup;

    return [h("h3", {}, icon(backup.grade), label_of(mark, run)), h("dl", { class: "facts" },
        fact(_("Made"), word(backup.origin)), fact(_("Revision"), number(backup.revision)), fact(_("Size"), size(backup.size)),
        fact(_("Space of its own"), backup.exclusive === null ? null : size(backup.exclusive))),
    button(_("Open"), () => open(backup))];
}

function legend() {
    const entry = (name, text) => h("li", {}, icon(name), text);

    return h("ul", { class: "legend", "aria-label": _("Legend") },
             entry("good", _("good backup")), entry("unproven", _("unproven backup")), entry("bad", _("bad backup")),
             entry("restore", _("restore")),
             h("li", {}, svg("svg", { viewBox: "-6 -18 12 14", class: "icon is-pin", "aria-hidden": "true" }, shape("pin")), _("pinned")));
}

/* The same in sentences; made when it is opened, as it may be long. */
function as_list(log) {
    const list = h("ol", { class: "log", reversed: true });
    const element = h("details", { class: "as-list", "data-key": "as-list" }, h("summary", { "data-key": "as-list-summary" }, _("The same as a list")), list);

    element.addEventListener("toggle", () => {
        if (element.open && !list.firstChild)
            list.append(...log.filter(event => !event.detail).reverse().map(event =>
                h("li", {}, h("time", {}, date(event.time)), " ", h("span", { title: event.text }, short(event.text)))));
    });
    return element;
}

function lanes_of(data, backups, status) {
    return h("ul", { class: "lanes", "aria-label": _("Deployments") }, data.lanes.map(lane => {
        const known = role(lane, backups, status);

        return h("li", { title: lane || "" }, h("span", { class: "lane-name" }, lane ? short(lane) : _("unknown")),
                 known ? h("span", { class: "lane-role" }, word(known)) : null);
    }));
}

export function timeline(section, { log, log_trouble, list, status, open }) {
    const data = story(log, list, status);

    if (!data.runs.length) {
        replace(section, log_trouble ? note_of(log_trouble) : null, h("p", { class: "empty" }, _("Nothing has happened to the data yet.")));
        return;
    }
    const { things, picture } = draw(data);
    const panel = h("div", { class: "thing-details", "aria-live": "polite" });
    const box = h("div", { class: "scroll", role: "listbox", "aria-label": _("History of the data, oldest first"), "aria-orientation": "horizontal" }, picture);
    let current = things.length - 1;

    function select(index, focus) {
        const former = things[current].element;
        const next = things[index];

        former.setAttribute("tabindex", -1);
        former.setAttribute("aria-selected", "false");
        current = index;
        next.element.setAttribute("tabindex", 0);
        next.element.setAttribute("aria-selected", "true");
        next.element.setAttribute("data-key", "timeline-thing");
        if (former !== next.element)
            former.removeAttribute("data-key");
        if (focus)
            next.element.focus();
        replace(panel, details(next, open));
    }

    /* The nearest thing of the lane above or below. */
    function beside(step) {
        const here = things[current];
        const lane = here.y + step * LANE;
        let best = current;

        things.forEach((thing, index) => {
            if (thing.y === lane && (best === current || Math.abs(thing.x - here.x) < Math.abs(things[best].x - here.x)))
                best = index;
        });
        return best;
    }

    box.addEventListener("keydown", event => {
        const next = {
            ArrowRight: () => Math.min(current + 1, things.length - 1), ArrowLeft: () => Math.max(current - 1, 0),
            ArrowDown: () => beside(1), ArrowUp: () => beside(-1), Home: () => 0, End: () => things.length - 1
        }[event.key];

        if (next) {
            event.preventDefault();
            select(next(), true);
        } else if ((event.key === "Enter" || event.key === " ") && things[current].mark?.backup) {
            event.preventDefault();
            open(things[current].mark.backup);
        }
    });
    box.addEventListener("click", event => {
        const element = event.target.closest("[data-index]");

        if (element)
            select(Number(element.dataset.index), true);
    });
    select(current, false);
    replace(section, log_trouble ? note_of(log_trouble) : null, h("div", { class: "timeline" }, lanes_of(data, list, status), box), panel, legend(),
            log ? as_list(log) : null);
    /* To the end, once it has been laid out. */
    window.requestAnimationFrame(() => { box.scrollLeft = box.scrollWidth });
}

/* Without the ledger there are the backups still. */
function note_of(error) {
    return error.kind === "access" ? h("p", { class: "note" }, _("Runs and restores are shown with administrative access; these are the backups.")) : trouble(error);
}
