/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The page's only source: `greenboot-etcd --json VERB`. An answer is an object or a list; everything else is a Trouble,
 * with the fault and the next step.
 */
import { _, say } from "./words.js";

const cockpit = window.cockpit;
const SCHEMA = 1;

/* kind: missing, old, newer, unreadable, ended, offline, access, refused. code: the program's, of refused. */
export class Trouble extends Error {
    constructor(kind, message, hint, code) {
        super(message);
        this.kind = kind;
        this.hint = hint || null;
        this.code = code || null;
    }
}

/* This channel is empty: it closes with the connection, and later questions get no answer. */
const line = cockpit.channel({ payload: "null" });
let lost = false;

export const on_lost = callback => line.addEventListener("close", () => {
    lost = true;
    callback();
});
const offline = () => new Trouble("offline", _("There is no connection to the device."), _("Connect again, and load this page again."));

function not_started(failure, verb) {
    if (failure.problem === "not-found")
        return new Trouble("missing", _("greenboot-etcd is not installed on this device."),
                           _("Install the package greenboot-etcd, and load this page again."));
    if (failure.problem === "access-denied" || failure.problem === "authentication-failed" || failure.problem === "not-authorized")
        return new Trouble("access", _("This needs administrative access."), _("Turn on administrative access at the top of the window."));
    if (lost || failure.problem === "disconnected" || failure.problem === "no-host")
        return offline();
    if (failure.exit_signal || failure.problem)
        return new Trouble("ended", say("greenboot-etcd $0 was ended before it could answer$1.", verb,
                                        failure.exit_signal ? ` (${failure.exit_signal})` : ""),
                           _("A later start finishes or undoes the operation. Ask again."));
    return null;
}

/* The last answers: the same text is the same object, so that a part sees that its answer is not new. */
const last = new Map();

function understood(text, failure, verb, question) {
    let answer;

    if (last.get(question)?.text === text)
        return last.get(question).answer;

    try {
        answer = JSON.parse(text);
    } catch (error) {
        if (failure && failure.exit_status === 2)
            return new Trouble("old", say("This greenboot-etcd does not know “$0”.", verb), _("Update greenboot-etcd: it is older than this page."));
        return new Trouble("unreadable", say("The answer of greenboot-etcd $0 is unreadable.", verb),
                           failure && failure.message || _("Update greenboot-etcd and cockpit-greenboot-etcd to the same version."));
    }
    const schema = (Array.isArray(answer) ? answer[0]?.schema : answer?.schema) ?? (Array.isArray(answer) && !answer.length ? SCHEMA : null);

    if (schema !== SCHEMA)
        return new Trouble("newer", say("greenboot-etcd $0 answers in format $1, and this page reads format $2.", verb, schema ?? "?", SCHEMA),
                           _("Update cockpit-greenboot-etcd: it is older than the program."));
    if (answer.error?.code === 2 && /^no such verb/.test(answer.error.message))
        return new Trouble("old", say("This greenboot-etcd does not know “$0”.", verb), _("Update greenboot-etcd: it is older than this page."));
    if (answer.error)
        return new Trouble("refused", answer.error.message, answer.error.hint, answer.error.code);
    last.set(question, { text, answer });
    return answer;
}

/*
 * ask(["list"]): a promise of the answer. Its stop() ends the program in order. A question runs with the rights of the
 * session; a change requires administrative access.
 */
export function ask(args, { change = false } = {}) {
    const verb = args.filter(arg => !arg.startsWith("-")).slice(0, ["member", "cluster", "certs"].includes(args[0]) ? 2 : 1).join(" ");
    const process = !lost && cockpit.spawn(["greenboot-etcd", "--json", ...args],
                                           { superuser: change ? "require" : "try", err: "message", environ: ["LC_ALL=C.UTF-8"] });
    const promise = lost ? Promise.reject(offline()) : new Promise((resolve, reject) => {
        const done = (text, failure) => {
            const answer = failure && not_started(failure, verb) || understood(text || "", failure, verb, args.join(" "));

            if (answer instanceof Trouble)
                reject(answer);
            else
                resolve(answer);
        };

        process.then(text => done(text, null)).catch((failure, text) => done(text, failure));
    });

    promise.stop = () => process.close("cancelled");
    return promise;
}

/* The archive of diagnose, from standard output. */
export function archive() {
    return lost ? Promise.reject(offline()) : new Promise((resolve, reject) => {
        cockpit.spawn(["greenboot-etcd", "diagnose", "-"], { superuser: "require", err: "message", binary: true })
                .then(resolve)
                .catch(failure => reject(not_started(failure, "diagnose") ||
                                         new Trouble("refused", failure.message, null, failure.exit_status)));
    });
}

/* Administrative access: true, false, or null while Cockpit has not said. */
const permission = cockpit.permission({ admin: true });

export const admin = () => permission.allowed;
export const on_admin = callback => permission.addEventListener("changed", callback);
