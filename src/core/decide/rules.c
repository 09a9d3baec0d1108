/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/rules.h"

/* A ruling with its effects. Without one of these fields, the data is unchanged. */
#define RULE(which, sentence, ...) ((GbeRuling){.rule = (which), .why = (sentence), __VA_ARGS__})
#define KEEP .take_over = true
#define HELD(which, kind) RULE(which, gbe_holds[GBE_HOLD_##kind].what, .hold = GBE_HOLD_##kind)
#define MOVE(what, how) .take_over = true, .move = GBE_DATA_##what, .displaced = GBE_DISPLACED_##how
/* The data stays and D uses it from now on. O's state is kept as far as possible. */
#define STAY .take_over = true, .backup = GBE_BACKUP_EFFORT, .upgrade = true
#define UPGRADE .take_over = true, .backup = GBE_BACKUP_REQUIRED, .upgrade = true

/* Rule 0 and skip: no risky action is done. */
static bool
hands_off(const GbeSituation *s, GbeRuling *r)
{
	bool booted = s->ostree == GBE_YES && s->booted_known;
	bool others = s->owner == GBE_OWNER_OTHER && booted && !s->skip;
	bool open = s->data_open == GBE_YES;

	if (s->data == GBE_UNKNOWN && others && s->hold_without_backup) {
		/* Unreadable data cannot be backed up. */
		*r = HELD(GBE_RULE_0, UNREAD);
	} else if (s->data == GBE_UNKNOWN) {
		*r = RULE(GBE_RULE_0, "the data directory cannot be read", );
	} else if (s->data_open != GBE_NO && others) {
		*r = HELD(GBE_RULE_0, OPEN);
	} else if (s->data_open != GBE_NO) {
		*r = RULE(GBE_RULE_0,
			  open ? "a process has the data open"
			       : "cannot determine whether a process has the data open", );
	} else if (s->skip) {
		*r = RULE(GBE_RULE_SKIP, "the kernel command line has greenboot-etcd.skip",
			  .take_over = booted && s->same_run != GBE_YES && s->data == GBE_YES,
			  .upgrade = s->owner != GBE_OWNER_SAME);
	} else if (s->ostree != GBE_NO && !booted) {
		*r = RULE(GBE_RULE_0, "cannot identify the booted deployment", .wait = true,
			  .backup = s->data == GBE_YES ? GBE_BACKUP_CLONED : GBE_BACKUP_NONE);
	} else {
		return false;
	}
	return true;
}

/* A member must not forget its promises to the other members. */
#define MEMBER                                                                                     \
	"a member of a cluster: its data is kept; where etcd refuses it, remove the member from "  \
	"the cluster and add it again (`greenboot-etcd cluster rejoin URL`)"

/* ---- the three returns that restore, each with its condition; rule 3 shares them ---- */

/* Is the owner a failed trial? It was judged, is not green, and used the data for a short time. */
static bool
is_failed_trial(const GbeSituation *s)
{
	return s->trial == GBE_YES && s->judged && s->verdict != GBE_VERDICT_GREEN &&
	       s->used_within == GBE_YES;
}

/* May a failed trial begin again from the data before it? */
static bool
may_retry(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_SAME && s->same_run == GBE_NO && is_failed_trial(s) &&
	       s->base == GBE_BASE_VALID && s->retry_trial && s->one_voter;
}

static bool
update_failed(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_OTHER && s->trial == GBE_YES &&
	       (s->in_chain || (s->ran == GBE_YES && s->own_trial == GBE_NO));
}

static bool
is_return(const GbeSituation *s)
{
	return s->owner == GBE_OWNER_OTHER && s->trial != GBE_YES && s->ran == GBE_YES &&
	       s->own_trial != GBE_YES;
}

/* Does rule 12 undo a failed update, or hold etcd back because of it? */
static bool
unwinds(const GbeSituation *s)
{
	return is_failed_trial(s) && s->owner == GBE_OWNER_OTHER && s->own_trial == GBE_YES &&
	       s->unwound != GBE_BASE_NONE && s->one_voter && s->on_failed != GBE_FAILED_KEEP;
}

/* Rule 9. Without a countdown, each boot of the update would rewind the data. */
static bool
retries_trial(const GbeSituation *s, GbeRuling *r)
{
	if (!may_retry(s) || !s->ends)
		return false;
	*r = RULE(GBE_RULE_9, "the failed update is tried again with the data from before it",
		  MOVE(BASE, BAD));
	return true;
}

/* Rule 10a: the update failed, and an older system booted. */
static GbeRuling
after_failed_update(const GbeSituation *s)
{
	if (s->on_rollback == GBE_ROLLBACK_NEVER)
		return RULE(GBE_RULE_10A,
			    "the update failed; the data is kept, by on-rollback=never", STAY);
	if (!s->one_voter)
		return RULE(GBE_RULE_10A, "the update failed, but this is " MEMBER, STAY);
	if (s->in_chain && s->chain_own != GBE_BASE_NONE)
		return RULE(GBE_RULE_10A, "the update failed; the data from before it is restored",
			    MOVE(CHAIN_OWN, BAD));
	if (!s->in_chain && s->chain_end != GBE_BASE_NONE)
		return RULE(GBE_RULE_10A, "the update failed; an older system boots again",
			    MOVE(CHAIN_END, BAD), .again = true);
	/* Do not substitute an older backup. */
	if (s->unseen)
		return RULE(GBE_RULE_10A,
			    "the update failed, and its data is kept: the backup from before it "
			    "cannot be read now",
			    STAY, .wait = true);
	if (s->candidate)
		return RULE(GBE_RULE_10A,
			    "the update failed and the backup before it cannot be used",
			    MOVE(CANDIDATE, BAD));
	return RULE(GBE_RULE_10A,
		    "the update failed, and its data is kept: there is no backup from before it",
		    STAY);
}

/* Rule 10b: a return to a deployment that was green before. */
static GbeRuling
after_return(const GbeSituation *s)
{
	const char *why = NULL;

	if (s->same_commit && s->verdict == GBE_VERDICT_GREEN)
		why = "the same commit, and its data is green";
	else if (s->on_rollback == GBE_ROLLBACK_NEVER)
		why = "a return to an older deployment; on-rollback=never";
	else if (!s->one_voter)
		why = "a return to an older deployment, but this is " MEMBER;
	/* Do not substitute an older backup. */
	else if (s->unseen)
		why = "a return to an older deployment whose own state cannot be read now";
	else if (!s->candidate)
		why = "a return to an older deployment that has no backup of its own";
	if (why != NULL)
		return RULE(GBE_RULE_10B, why, STAY);
	if (s->on_rollback == GBE_ROLLBACK_RESTORE && s->deliberate == GBE_YES)
		return RULE(GBE_RULE_10B, "a deliberate rollback: the default boot entry was moved",
			    MOVE(CANDIDATE, AS_GRADED));
	if (s->usable == GBE_NO && s->usable_candidate)
		return RULE(GBE_RULE_10B,
			    "a return to an older deployment whose etcd cannot read the data",
			    MOVE(USABLE, AS_GRADED));
	if (s->usable == GBE_NO || s->contains == GBE_NO)
		return RULE(GBE_RULE_10B,
			    "a return to a deployment whose own state the data does not contain",
			    MOVE(CANDIDATE, AS_GRADED));
	return RULE(GBE_RULE_10B,
		    s->on_rollback == GBE_ROLLBACK_IF_FAILED
			? "a return from a deployment that did not fail"
			: "an accidental return: the data is kept",
		    STAY);
}

static GbeRuling
other_owner(const GbeSituation *s)
{
	GbeRuling r;

	if (is_return(s)) {
		r = after_return(s);
		r.wait = s->unseen;
		return r;
	}
	if (!unwinds(s))
		return RULE(GBE_RULE_11, "an upgrade", UPGRADE);
	if (s->on_failed == GBE_FAILED_REFUSE)
		return HELD(GBE_RULE_12, FAILED);
	if (s->unseen)
		return RULE(GBE_RULE_11,
			    "an update on top of a failed one; the data before that cannot be "
			    "read now",
			    UPGRADE, .wait = true);
	return RULE(GBE_RULE_12,
		    "an update on top of a failed one starts from the data before that",
		    MOVE(UNWOUND, BAD), .upgrade = true);
}

static GbeRuling
rule_plain_reboot(const GbeSituation *s, GbeRule rule, const char *why)
{
	return RULE(rule, why, KEEP,
		    .backup = s->higher_minor ? GBE_BACKUP_REQUIRED : GBE_BACKUP_PLAIN);
}

/* Rule 5a: etcd is known to fail on this data. False: the data stays, and the rule for sound data follows. The closing
 * backup has all writes of its owner, so an update or a return may also start from it. */
static bool
replaces_damage(const GbeSituation *s, GbeRuling *r)
{
	static const char why[] = "the data has a fault that etcd does not survive";
	bool own = s->owner == GBE_OWNER_SAME;
	bool base = own && s->trial == GBE_YES && s->base == GBE_BASE_VALID;
	GbeDataMove source;

	/* Rule 12 displaces the data of a failed update, also if it is damaged. */
	if (s->sound != GBE_NO || s->owner == GBE_OWNER_UNKNOWN || unwinds(s))
		return false;
	if (own && s->on_corrupt == GBE_CORRUPT_REFUSE) {
		*r = HELD(GBE_RULE_5A, CORRUPT);
		return true;
	}
	if (s->on_corrupt != GBE_CORRUPT_RESTORE || !s->one_voter)
		return false;
	/* A failed update begins again from its base. Any other owner gets the data that it left. */
	if (s->closing_backup && !(base && is_failed_trial(s)))
		source = GBE_DATA_CLOSING;
	else if (base)
		source = GBE_DATA_BASE;
	else if (own && s->candidate)
		source = GBE_DATA_CANDIDATE;
	else
		return false;
	*r = RULE(GBE_RULE_5A, why, KEEP, .move = source, .upgrade = !own,
		  .displaced = s->closing == GBE_CLOSING_DIFFERS ? GBE_DISPLACED_ADOPTED
								 : GBE_DISPLACED_BAD);
	return true;
}

static GbeRuling
same_run(const GbeSituation *s)
{
	GbeRuling r;

	if (replaces_damage(s, &r))
		return r;
	if (s->higher_minor)
		return RULE(GBE_RULE_5, "a newer etcd under the same deployment", UPGRADE);
	/* A container may have a newer etcd now, under the same deployment. */
	return RULE(GBE_RULE_5, "etcd was started again in the same run", KEEP,
		    .backup = s->etcd_elsewhere ? GBE_BACKUP_CLONED : GBE_BACKUP_NONE);
}

static GbeRuling
same_owner(const GbeSituation *s)
{
	const char *why = "the last run was not found healthy and green";

	if (s->sound == GBE_NO)
		why = "the data has a fault that etcd does not survive, and it stays";
	else if (may_retry(s))
		why = "a failed update keeps its data: nothing counts its boots down, and no "
		      "other deployment boots next";
	else if (s->verdict == GBE_VERDICT_GREEN && s->healthy)
		why = "the last run was green and etcd healthy";
	else if (s->trial != GBE_YES && s->verdict == GBE_VERDICT_RED)
		why = "the last run was red, and that does not prove that the data is at fault";
	return rule_plain_reboot(s, s->sound == GBE_NO ? GBE_RULE_5A : GBE_RULE_6, why);
}

static GbeRuling
no_data(const GbeSituation *s)
{
	GbeSituation here = *s;
	GbeRuling r = {0};

	if (s->emptied)
		return RULE(GBE_RULE_3, "there is no data, and a person wants it so",
			    MOVE(FRESH, AS_GRADED), .upgrade = true);
	/* An empty directory does not contain D's own state. */
	if (s->left_elsewhere)
		here.contains = GBE_NO;
	if (update_failed(s))
		r = after_failed_update(s);
	else if (is_return(s))
		r = after_return(&here);
	else if (!retries_trial(s, &r) && unwinds(s))
		r = other_owner(s);
	if (r.move != GBE_DATA_KEEP || r.hold != GBE_HOLD_NO)
		return r;
	if (s->left_elsewhere)
		return HELD(GBE_RULE_3, ELSEWHERE);
	if (s->on_missing == GBE_MISSING_RESTORE && s->candidate && s->one_voter)
		return RULE(GBE_RULE_3, "there is no data; on-missing-data=restore",
			    MOVE(CANDIDATE, AS_GRADED), .wait = r.wait);
	if (s->on_missing == GBE_MISSING_RESTORE && s->owner_left && s->one_voter &&
	    s->owner == GBE_OWNER_OTHER)
		return RULE(GBE_RULE_3,
			    "there is no data, and an update starts from what the system before it "
			    "left; on-missing-data=restore",
			    MOVE(OWNER_LEFT, AS_GRADED), .upgrade = true, .wait = r.wait);
	return RULE(GBE_RULE_3,
		    s->known_before ? "there is no data, although earlier records name data"
				    : "there is no data",
		    MOVE(FRESH, AS_GRADED), .upgrade = true, .began_empty = s->known_before,
		    .wait = r.wait);
}

/* All rules except those for requests. */
static GbeRuling
find_ruling(const GbeSituation *s)
{
	GbeRuling r;

	/* The ruling for the state that 10a is about to restore, as if its owner were O. D owns its own state, unless a
	 * person restored an older state of D under the failed update. */
	if (s->last_pass)
		return s->owner == GBE_OWNER_SAME && s->contains != GBE_NO
			   ? rule_plain_reboot(s, GBE_RULE_6, "its own data is kept")
			   : after_return(s);
	if (s->data == GBE_NO && s->mount_lost)
		return HELD(GBE_RULE_3, MOUNT);
	/* This comes before the rules that restore: a backup of one voter is older than the other members. */
	if (s->log_lost && s->data == GBE_NO && s->left_elsewhere && !s->emptied)
		return HELD(GBE_RULE_3, ELSEWHERE);
	if (s->log_lost)
		return HELD(GBE_RULE_3, MEMBER);
	if (s->data == GBE_NO)
		return no_data(s);
	if (s->owner == GBE_OWNER_SAME && s->same_run == GBE_YES)
		return same_run(s);
	if (retries_trial(s, &r))
		return r;
	if (update_failed(s))
		return after_failed_update(s);
	if (replaces_damage(s, &r))
		return r;
	/* etcd's log may be in another directory, so that a backup would lack it. */
	if (s->owner == GBE_OWNER_OTHER && s->no_log)
		return HELD(is_return(s) ? GBE_RULE_10B : GBE_RULE_11, LOG);
	if (s->owner == GBE_OWNER_SAME && s->closing == GBE_CLOSING_DIFFERS && s->closing_back &&
	    s->one_voter && s->on_rollback != GBE_ROLLBACK_NEVER)
		return RULE(GBE_RULE_13, "an update without this program came and went",
			    MOVE(CLOSING, ADOPTED));
	if (s->owner != GBE_OWNER_UNKNOWN && s->closing == GBE_CLOSING_DIFFERS)
		return RULE(GBE_RULE_4, "another program has written the data", UPGRADE,
			    .adopt = true);
	if (s->owner == GBE_OWNER_UNKNOWN)
		return RULE(GBE_RULE_4, "the owner of this data is unknown", KEEP, .adopt = true,
			    .upgrade = true,
			    .backup = s->older_listed == GBE_YES ? GBE_BACKUP_REQUIRED
								 : GBE_BACKUP_EFFORT);
	return s->owner == GBE_OWNER_SAME ? same_owner(s) : other_owner(s);
}

void
gbe_rules_apply(const GbeSituation *s, GbeRuling *ret_ruling)
{
	if (hands_off(s, ret_ruling))
		return;
	*ret_ruling = s->ostree == GBE_NO ? RULE(GBE_RULE_1, "this is not an ostree system", )
					  : find_ruling(s);
	/* The data that a request displaces is kept in the same way as without the request. */
	if (s->request == GBE_REQUEST_IS_READY)
		*ret_ruling =
		    RULE(GBE_RULE_2, "a restore was requested", KEEP, .move = GBE_DATA_REQUESTED,
			 .upgrade = s->ostree != GBE_NO && s->owner != GBE_OWNER_SAME,
			 .displaced = ret_ruling->rule == GBE_RULE_10A ? GBE_DISPLACED_BAD
				      : ret_ruling->adopt	       ? GBE_DISPLACED_ADOPTED
								       : ret_ruling->displaced);
}

bool
gbe_rules_gate(const GbeSituation *s, GbeRuling *ruling)
{
	const char *why = gbe_holds[GBE_HOLD_UNUSABLE].what;
	bool wait = ruling->wait;

	/* A requested backup was checked when the person asked. */
	if (!ruling->take_over || ruling->rule == GBE_RULE_2 || ruling->rule == GBE_RULE_SKIP ||
	    ruling->move == GBE_DATA_FRESH || s->usable != GBE_NO ||
	    (s->owner == GBE_OWNER_SAME && s->same_run == GBE_YES))
		return false;
	if (s->usable_candidate && !s->unseen && s->one_voter && s->owner == GBE_OWNER_OTHER &&
	    ruling->rule != GBE_RULE_4 && s->on_rollback != GBE_ROLLBACK_NEVER) {
		ruling->move = GBE_DATA_USABLE;
		ruling->displaced = GBE_DISPLACED_AS_GRADED;
		ruling->backup = GBE_BACKUP_NONE;
		ruling->upgrade = false;
	} else {
		*ruling = HELD(GBE_RULE_14, UNUSABLE);
	}
	ruling->rule = GBE_RULE_14;
	ruling->why = why;
	ruling->wait = wait;
	return true;
}

const char *
gbe_rule_to_string(GbeRule rule)
{
	static const char *const names[] = {
	    [GBE_RULE_0] = "0",	      [GBE_RULE_1] = "1",     [GBE_RULE_2] = "2",
	    [GBE_RULE_3] = "3",	      [GBE_RULE_4] = "4",     [GBE_RULE_5] = "5",
	    [GBE_RULE_5A] = "5a",     [GBE_RULE_6] = "6",     [GBE_RULE_9] = "9",
	    [GBE_RULE_10A] = "10a",   [GBE_RULE_10B] = "10b", [GBE_RULE_11] = "11",
	    [GBE_RULE_12] = "12",     [GBE_RULE_13] = "13",   [GBE_RULE_14] = "14",
	    [GBE_RULE_SKIP] = "skip",
	};

	return (guint)rule < G_N_ELEMENTS(names) ? names[rule] : "?";
}
