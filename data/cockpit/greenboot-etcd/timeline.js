/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The history of the data as a picture. A lane is a deployment, a bar is a run that had the data, a sign on it is a backup
 * or a restore. The order is the ledger's, from left to right: a device without a battery may boot in 1970. The Tab key
 * stops once; the arrow keys go from sign to sign.
 */
import { h, svg, shape, icon, replace, fact } from "./dom.js";
import { _, say, short, system, size, date, day, clock, word, count, number, reason } from "./words.js";
import { story, role, recent } from "./story.js";
import { button, trouble } from "./dialog.js";

const LANE = 48;
const STEP = 22;
const GAP = 10;
const TOP = 26;
const DIGIT = 7.5;

const grade_of = backup => [word(backup.grade), backup.pinned ? _("pinned") : null].filter(Boolean).join(", ");

function label_of(thing, run) {
    if (thing.kind === "restore")
        return say("Restore of $0, $1", short(thing.from), thing.by_hand ? _("by hand") : _("at boot"));
    if (thing.kind === "backup")
        return say("Backup $0, $1, $2", short(thing.backup.name), grade_of(thing.backup), date(thing.backup.created));
    return [say("Run of $0", run.deployment ? system(run.deployment) : _("an unknown system")), word(run.verdict),
        run.now ? _("now") : null, run.begun ? date(run.begun) : null,
        run.marks.length ? count("$0 backup or restore", "$0 backups and restores", run.marks.length) : null].filter(Boolean).join(", ");
}

/* A sign or a bar that the keys reach. Its place is that of its middle. */
function option(index, place, label, name, ...children) {
    return svg("g", {
        role: "option", tabindex: -1, id: `thing-${index}`, "data-index": index, "aria-label": label, "aria-selected": "false",
        transform: `translate(${place.x} ${place.y})`, class: `thing is-${name}`, "data-sign": name
    }, svg("title", {}, label), ...children);
}

/* The arrow leaves and arrives upright, past the words in the bars. Within a lane it arches over the signs. */
function arrow(from, to) {
    const way = Math.sign(to.y - from.y);
    const begin = from.y + (way || -1) * 9;
    const end = to.y - (way || 1) * 10;
    const middle = way ? (begin + end) / 2 : end - 18;

    return svg("path", { class: "arrow", d: `M${from.x} ${begin} C${from.x} ${middle} ${to.x} ${middle} ${to.x} ${end}` });
}

/* A date where the day changes, else a time. A label needs room: near bars have none. */
function axis_label(run, x, axis) {
    const text = run.begun && (day(run.begun) === axis.day ? clock(run.begun) : date(run.begun));

    if (!text || x < axis.free)
        return null;
    axis.day = day(run.begun);
    axis.free = x + text.length * DIGIT + GAP;
    return [svg("path", { class: "tick", d: `M${x + 0.5} ${TOP - 8} V${TOP}` }), svg("text", { x, y: 13, class: "when" }, text)];
}

/* Places everything: {things: [{run, mark, x, y, element}], picture}. */
function draw(data) {
    const lanes = new Map(data.lanes.map((lane, index) => [lane, TOP + index * LANE + LANE / 2]));
    const things = [];
    const bars = [];
    const arrows = [];
    const labels = [];
    const places = new Map();
    const axis = { day: null, free: 0 };
    let x = GAP;

    for (const run of data.runs) {
        const said = word(run.verdict);
        const head = 18 + said.length * 7;
        const width = head + run.marks.length * STEP;
        const y = lanes.get(run.deployment);
        const add = (mark, place, element) => things.push({ run, mark, ...place, element });
        const state = RUNS[run.verdict] ? run.verdict : "none";

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
        labels.push(axis_label(run, x, axis));
        bars.push(svg("path", { class: "tie", d: `M${x + width} ${y} h${GAP}` }));
        x += width + GAP;
    }

    const height = TOP + data.lanes.length * LANE;
    const width = Math.max(x, axis.free);
    const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "presentation" },
                        data.lanes.map((lane, index) => svg("rect", {
                            class: index % 2 ? "lane odd" : "lane", x: 0, y: TOP + index * LANE, width, height: LANE
                        })),
                        svg("path", { class: "axis", d: `M0 ${TOP - 0.5} H${width}` }), labels, bars, things.filter(thing => !thing.mark).map(thing => thing.element), arrows,
                        things.filter(thing => thing.mark).map(thing => thing.element));

    return { things, picture };
}

function details(thing, open) {
    const { run, mark } = thing;

    if (!mark)
        return [h("h3", {}, icon(run.verdict), label_of({}, run)), h("dl", { class: "facts" },
            fact(_("Verdict"), word(run.verdict) + (run.by_hand ? ` (${_("by hand")})` : "")), fact(_("etcd"), word(run.health)),
            fact(_("Orderly end"), run.ended && date(run.ended)))];
    if (mark.kind === "restore")
        return [h("h3", {}, icon("restore"), label_of(mark, run)), h("p", {}, short(mark.text)), h("p", {}, date(mark.time))];
    const backup = mark.backup;

    return [h("h3", {}, icon(backup.grade), label_of(mark, run)), h("dl", { class: "facts" },
        fact(_("Why"), reason(backup)), fact(_("Revision"), number(backup.revision)), fact(_("Size"), size(backup.size)),
        fact(_("Not shared"), backup.exclusive === null ? null : size(backup.exclusive))),
    button(_("Open"), () => open(backup))];
}

/* A sign of the picture and its meaning; the legend has the signs that are in the picture. */
const RUNS = { green: () => _("run with a good boot"), red: () => _("run with a failed boot"), judging: () => _("run that is being judged"), none: () => _("run without a verdict") };
const SIGNS = {
    good: () => _("good backup"), unproven: () => _("unproven backup"), bad: () => _("bad backup"), unreadable: () => _("unreadable backup"),
    restore: () => _("restore, with a line from its backup")
};

const small = (...shapes) => svg("svg", { viewBox: "-9 -9 18 18", class: "icon", "aria-hidden": "true" }, shapes);

function legend({ things }) {
    const used = name => things.some(({ element }) => element.getAttribute("data-sign") === name);
    const entry = (name, sign, text) => h("li", { "data-sign": name }, sign, text);
    const bar = more => svg("rect", { class: "bar", x: -8, y: -6, width: 16, height: 10, rx: 3, ...more });

    return h("ul", { class: "legend", "aria-label": _("Legend") },
             Object.keys(RUNS).filter(used).map(name => entry(name, small(svg("g", { class: `thing is-${name}` }, bar())), RUNS[name]())),
             things.some(({ run }) => run.now) ? entry("now", small(svg("rect", { class: "now", x: -8, y: 2, width: 16, height: 3, rx: 1.5 })), _("the present run")) : null,
             Object.keys(SIGNS).filter(used).map(name => entry(name, icon(name), SIGNS[name]())),
             things.some(({ mark }) => mark?.backup?.pinned)
                 ? entry("pin", svg("svg", { viewBox: "-6 -18 12 14", class: "icon is-pin", "aria-hidden": "true" }, shape("pin")), _("pinned")) : null);
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

        return h("li", { title: lane || "" }, h("span", { class: "lane-name" }, lane ? system(lane) : _("unknown")),
                 known ? h("span", { class: "lane-role" }, word(known)) : null);
    }));
}

/* Older events stay folded until a person asks for them. */
let all = false;

export function timeline(section, options) {
    const { log, log_trouble, list, status, open } = options;
    const whole = story(log, list, status);
    const data = all ? whole : recent(whole);

    if (!data.runs.length) {
        replace(section, log_trouble ? note_of(log_trouble) : null, h("p", { class: "empty" }, _("The history of the data is empty.")));
        return;
    }
    const drawn = draw(data);
    const { things, picture } = drawn;
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
        replace(panel, focus ? details(next, open) : null);
    }

    /* The nearest sign of the lane above or below. */
    function of_lane(step) {
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
            ArrowDown: () => of_lane(1), ArrowUp: () => of_lane(-1), Home: () => 0, End: () => things.length - 1
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
    replace(section, log_trouble ? note_of(log_trouble) : null, h("div", { class: "timeline" }, lanes_of(data, list, status), box), panel, legend(drawn),
            data.runs.length < whole.runs.length ? button(count("Show $0 older run", "Show $0 older runs", whole.runs.length - data.runs.length), () => {
                all = true;
                timeline(section, options);
            }, { "data-key": "older", "data-older": true }) : null,
            log ? as_list(log) : null);
    /* The newest events are at the end. The browser knows the width after its layout. */
    window.requestAnimationFrame(() => { box.scrollLeft = box.scrollWidth });
}

/* The ledger needs root; the list of backups does not. */
function note_of(error) {
    return error.kind === "access" ? h("p", { class: "note" }, _("Runs and restores are shown with administrative access; these are the backups.")) : trouble(error);
}
