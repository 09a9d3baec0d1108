/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "core/decide/rules.h"

static GbeRuling
rule_keep(GbeRule rule, const char *why)
{
	return (GbeRuling){.rule = rule, .why = why, .take_over = true};
}

static GbeRuling
rule_nothing(GbeRule rule, const char *why)
{
	return (GbeRuling){.rule = rule, .why = why};
}

static GbeRuling
rule_hold(GbeRule rule, GbeHold what, const char *why)
{
	return (GbeRuling){.rule = rule, .hold = what, .why = why};
}

static GbeRuling
rule_move(GbeRule rule, GbeDataMove what, GbeDisplaced displaced, const char *why)
{
	GbeRuling r = rule_keep(rule, why);

	r.move = what;
	r.displaced = displaced;
	return r;
}

/* The data stays and D goes on with it. O's state is kept as far as possible. */
static GbeRuling
rule_go_on(GbeRule rule, const char *why)
{
	GbeRuling r = rule_keep(rule, why);

	r.backup = GBE_BACKUP_EFFORT;
	r.upgrade = true;
	return r;
}

/* Rule 0 and the off switch: no risky action is taken. */
static bool
hands_off(const GbeSituation *s, GbeRuling *r)
{
	bool known = s->ostree == GBE_NO || (s->ostree == GBE_YES && s->booted_known);
	bool others =
	    s->owner == GBE_OWNER_OTHER && s->ostree == GBE_YES && s->booted_known && !s->skip;

	if (s->data == GBE_UNKNOWN) {
		*r = rule_nothing(GBE_RULE_0, "the data directory cannot be read");
		/* There is no backup of what cannot be read. */
		if (others && s->hold_without_backup)
			*r = rule_hold(
			    GBE_RULE_0, GBE_HOLD_UNREAD,
			    "the data directory cannot be read, and another deployment had "
			    "it last");
	} else if (s->data_open != GBE_NO) {
		*r = rule_nothing(GBE_RULE_0,
				  s->data_open == GBE_YES
				      ? "somebody has the data open"
				      : "it cannot be told whether somebody has the data open");
		if (others)
			*r = rule_hold(
			    GBE_RULE_0, GBE_HOLD_OPEN,
			    s->data_open == GBE_YES
				? "somebody has the data open, and another deployment had "
				  "it last"
				: "cannot determine whether a process has the data open, and "
				  "another deployment had it last");
	} else if (s->skip) {
		*r = rule_nothing(GBE_RULE_SKIP, "the kernel command line has greenboot-etcd.skip");
		r->take_over = s->ostree == GBE_YES && s->booted_known && s->same_run != GBE_YES &&
			       s->data == GBE_YES;
		r->upgrade = s->owner != GBE_OWNER_SAME;
	} else if (!known) {
		*r = rule_nothing(GBE_RULE_0, "cannot identify the booted deployment");
		r->wait = true;
		if (s->data == GBE_YES)
			r->backup = GBE_BACKUP_CLONED;
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

/* Without a countdown there would be a rewind at each boot, for as long as the update stays. */
static bool
retries_trial(const GbeSituation *s)
{
	return may_retry(s) && s->ends;
}

static GbeRuling
rule_retry(void)
{
	return rule_move(GBE_RULE_9, GBE_DATA_BASE, GBE_DISPLACED_BAD,
			 "a failed trial is tried again from the data before it");
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

/* Does 12 unwind a failed update, or hold etcd back over it? */
static bool
unwinds(const GbeSituation *s)
{
	return is_failed_trial(s) && s->owner == GBE_OWNER_OTHER && s->own_trial == GBE_YES &&
	       s->unwound != GBE_BASE_NONE && s->one_voter && s->on_failed != GBE_FAILED_KEEP;
}

/* 10a: the update failed, and an older system came back. */
static GbeRuling
after_failed_update(const GbeSituation *s)
{
	static const char why[] = "the update failed and its base came back";
	static const char older[] = "the update failed and an older system came back";
	GbeRuling r;

	if (s->on_rollback == GBE_ROLLBACK_NEVER)
		return rule_go_on(GBE_RULE_10A,
				  "the update failed and its base came back; on-rollback=never");
	if (!s->one_voter)
		return rule_go_on(GBE_RULE_10A, "the update failed, but this is " MEMBER);
	if (s->in_chain && s->chain_own != GBE_BASE_NONE)
		return rule_move(GBE_RULE_10A, GBE_DATA_CHAIN_OWN, GBE_DISPLACED_BAD, why);
	if (!s->in_chain && s->chain_end != GBE_BASE_NONE) {
		r = rule_move(GBE_RULE_10A, GBE_DATA_CHAIN_END, GBE_DISPLACED_BAD, older);
		r.again = true;
		return r;
	}
	/* An older state is none in its place. */
	if (s->unseen) {
		r = rule_go_on(
		    GBE_RULE_10A,
		    "the update failed, and what it left goes on: the backup from before it "
		    "cannot be read now");
		r.wait = true;
		return r;
	}
	if (s->candidate)
		return rule_move(GBE_RULE_10A, GBE_DATA_CANDIDATE, GBE_DISPLACED_BAD,
				 "the update failed and the backup before it cannot be used");
	return rule_go_on(
	    GBE_RULE_10A,
	    "the update failed, and what it left goes on: there is no backup from before it");
}

/* 10b: a return to a deployment that had been green. */
static GbeRuling
after_return(const GbeSituation *s)
{
	bool cannot_go_on = s->usable == GBE_NO || s->contains == GBE_NO;

	if (s->same_commit && s->verdict == GBE_VERDICT_GREEN)
		return rule_go_on(GBE_RULE_10B, "the same commit, and its data is green");
	if (s->on_rollback == GBE_ROLLBACK_NEVER)
		return rule_go_on(GBE_RULE_10B,
				  "a return to an older deployment; on-rollback=never");
	if (!s->one_voter)
		return rule_go_on(GBE_RULE_10B,
				  "a return to an older deployment, but this is " MEMBER);
	/* An older state is none in its place. */
	if (s->unseen)
		return rule_go_on(GBE_RULE_10B,
				  "a return to an older deployment whose own state cannot "
				  "be read now");
	if (!s->candidate)
		return rule_go_on(GBE_RULE_10B,
				  "a return to an older deployment that has no backup of its own");
	if (s->on_rollback == GBE_ROLLBACK_RESTORE && s->deliberate == GBE_YES)
		return rule_move(GBE_RULE_10B, GBE_DATA_CANDIDATE, GBE_DISPLACED_AS_GRADED,
				 "a deliberate rollback: the default boot entry was moved");
	if (s->usable == GBE_NO && s->usable_candidate)
		return rule_move(GBE_RULE_10B, GBE_DATA_USABLE, GBE_DISPLACED_AS_GRADED,
				 "a return to an older deployment whose etcd cannot read the data");
	if (cannot_go_on)
		return rule_move(
		    GBE_RULE_10B, GBE_DATA_CANDIDATE, GBE_DISPLACED_AS_GRADED,
		    "a return to a deployment whose own state the data does not contain");
	return rule_go_on(GBE_RULE_10B, s->on_rollback == GBE_ROLLBACK_IF_FAILED
					    ? "a return from a deployment that did not fail"
					    : "a return that nobody asked for: the data goes on");
}

static GbeRuling
rule_upgrade(GbeRule rule, const char *why)
{
	GbeRuling r = rule_keep(rule, why);

	r.backup = GBE_BACKUP_REQUIRED;
	r.upgrade = true;
	return r;
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
		return rule_upgrade(GBE_RULE_11, "an upgrade");
	if (s->on_failed == GBE_FAILED_REFUSE)
		return rule_hold(GBE_RULE_12, GBE_HOLD_FAILED,
				 "an update on top of a failed one; on-upgrade-from-failed=refuse");
	if (s->unseen) {
		r = rule_upgrade(GBE_RULE_11,
				 "an update on top of a failed one; the data before that cannot be "
				 "read now");
		r.wait = true;
		return r;
	}
	r = rule_move(GBE_RULE_12, GBE_DATA_UNWOUND, GBE_DISPLACED_BAD,
		      "an update on top of a failed one starts from the data before that");
	r.upgrade = true;
	return r;
}

static GbeRuling
rule_plain_reboot(const GbeSituation *s, GbeRule rule, const char *why)
{
	GbeRuling r = rule_keep(rule, why);

	r.backup = s->higher_minor ? GBE_BACKUP_REQUIRED : GBE_BACKUP_PLAIN;
	return r;
}

/* 5a: etcd is known not to survive this data. False: it stays, and the rule for sound data follows. The closing backup
 * has all that its owner wrote, so an update, or a return, may start from it, too. */
static bool
replaces_damage(const GbeSituation *s, GbeRuling *r)
{
	static const char why[] = "the data has a fault that etcd does not survive";
	bool own = s->owner == GBE_OWNER_SAME;
	bool base = own && s->trial == GBE_YES && s->base == GBE_BASE_VALID;
	GbeDataMove source;

	/* 12 displaces the data of a failed update, whatever is in it. */
	if (s->sound != GBE_NO || s->owner == GBE_OWNER_UNKNOWN || unwinds(s))
		return false;
	if (own && s->on_corrupt == GBE_CORRUPT_REFUSE) {
		*r = rule_hold(GBE_RULE_5A, GBE_HOLD_CORRUPT, why);
		return true;
	}
	if (s->on_corrupt != GBE_CORRUPT_RESTORE || !s->one_voter)
		return false;
	/* A failed update begins again from its base; any other owner gets back what it left. */
	if (s->closing_backup && !(base && is_failed_trial(s)))
		source = GBE_DATA_CLOSING;
	else if (base)
		source = GBE_DATA_BASE;
	else if (own && s->candidate)
		source = GBE_DATA_CANDIDATE;
	else
		return false;
	*r = rule_move(
	    GBE_RULE_5A, source,
	    s->closing == GBE_CLOSING_DIFFERS ? GBE_DISPLACED_ADOPTED : GBE_DISPLACED_BAD, why);
	r->upgrade = !own;
	return true;
}

static GbeRuling
same_run(const GbeSituation *s)
{
	GbeRuling r;

	if (s->service_failed && replaces_damage(s, &r))
		return r;
	if (s->higher_minor)
		return rule_upgrade(GBE_RULE_5, "a newer etcd under the same deployment");
	r = rule_keep(GBE_RULE_5, "etcd was started again in the same run");
	/* The etcd of a container may be a newer one by now, under the same deployment. */
	if (s->etcd_elsewhere)
		r.backup = GBE_BACKUP_CLONED;
	return r;
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
rule_fresh(const char *why)
{
	GbeRuling r = rule_move(GBE_RULE_3, GBE_DATA_FRESH, GBE_DISPLACED_AS_GRADED, why);

	r.upgrade = true;
	return r;
}

static GbeRuling
rule_elsewhere(void)
{
	return rule_hold(GBE_RULE_3, GBE_HOLD_ELSEWHERE,
			 "there is no data here, and it still lies where another data-dir= had it");
}

static GbeRuling
no_data(const GbeSituation *s)
{
	GbeSituation here = *s;
	GbeRuling r = {0};
	bool wait;

	/* An empty directory does not contain D's own state. */
	if (s->left_elsewhere)
		here.contains = GBE_NO;
	if (s->emptied)
		return rule_fresh("there is no data, and a person wants it so");
	if (update_failed(s))
		r = after_failed_update(s);
	else if (is_return(s))
		r = after_return(&here);
	else if (retries_trial(s))
		r = rule_retry();
	else if (unwinds(s))
		r = other_owner(s);
	if (r.move != GBE_DATA_KEEP || r.hold != GBE_HOLD_NO)
		return r;
	if (s->left_elsewhere)
		return rule_elsewhere();
	wait = r.wait;
	if (s->on_missing == GBE_MISSING_RESTORE && s->candidate && s->one_voter) {
		r = rule_move(GBE_RULE_3, GBE_DATA_CANDIDATE, GBE_DISPLACED_AS_GRADED,
			      "there is no data; on-missing-data=restore");
	} else if (s->on_missing == GBE_MISSING_RESTORE && s->owner_left && s->one_voter &&
		   s->owner == GBE_OWNER_OTHER) {
		r = rule_move(
		    GBE_RULE_3, GBE_DATA_OWNER_LEFT, GBE_DISPLACED_AS_GRADED,
		    "there is no data, and an update starts from what the system before it "
		    "left; on-missing-data=restore");
		r.upgrade = true;
	} else {
		r = rule_fresh(s->known_before
				   ? "there is no data, although earlier records name data"
				   : "there is no data");
		r.began_empty = s->known_before;
	}
	r.wait = wait;
	return r;
}

static GbeRuling
rule_adopt(const GbeSituation *s, bool foreign, const char *why)
{
	GbeRuling r = rule_keep(GBE_RULE_4, why);

	r.backup = foreign || s->older_listed == GBE_YES ? GBE_BACKUP_REQUIRED : GBE_BACKUP_EFFORT;
	r.adopt = true;
	r.upgrade = true;
	return r;
}

/* All rules but those for requests. */
static GbeRuling
find_ruling(const GbeSituation *s)
{
	GbeRuling r;

	/* The ruling for the state that 10a is about to put in the data's place, as if its owner were O. D's own state
	 * is D's, unless a person went back to an older state of D under the update that failed. */
	if (s->last_pass)
		return s->owner == GBE_OWNER_SAME && s->contains != GBE_NO
			   ? rule_plain_reboot(s, GBE_RULE_6, "its own state goes on")
			   : after_return(s);
	if (s->data == GBE_NO && s->mount_lost)
		return rule_hold(GBE_RULE_3, GBE_HOLD_MOUNT,
				 "the data directory was a mount point and its mount is missing");
	/* Before the rules that restore: a backup of one voter is from before the others joined. */
	if (s->log_lost && s->data == GBE_NO && s->left_elsewhere && !s->emptied)
		return rule_elsewhere();
	if (s->log_lost)
		return rule_hold(GBE_RULE_3, GBE_HOLD_MEMBER,
				 s->data == GBE_NO
				     ? "this is a member of a cluster, and its data is gone"
				     : "this is a member of a cluster, and its log is gone");
	if (s->data == GBE_NO)
		return no_data(s);
	if (s->owner == GBE_OWNER_SAME && s->same_run == GBE_YES)
		return same_run(s);
	if (retries_trial(s))
		return rule_retry();
	if (update_failed(s))
		return after_failed_update(s);
	if (replaces_damage(s, &r))
		return r;
	/* etcd may have its log elsewhere, where a backup would not find it. */
	if (s->owner == GBE_OWNER_OTHER && s->no_log)
		return rule_hold(
		    is_return(s) ? GBE_RULE_10B : GBE_RULE_11, GBE_HOLD_LOG,
		    "another deployment had this database last, and there is no log beside "
		    "it");
	if (s->owner == GBE_OWNER_SAME && s->closing == GBE_CLOSING_DIFFERS && s->closing_back &&
	    s->one_voter && s->on_rollback != GBE_ROLLBACK_NEVER)
		return rule_move(GBE_RULE_13, GBE_DATA_CLOSING, GBE_DISPLACED_ADOPTED,
				 "an update without this program came and went");
	if (s->owner != GBE_OWNER_UNKNOWN && s->closing == GBE_CLOSING_DIFFERS)
		return rule_adopt(s, true, "somebody without this program has written the data");
	if (s->owner == GBE_OWNER_UNKNOWN)
		return rule_adopt(s, false, "nobody knows whose data this is");
	return s->owner == GBE_OWNER_SAME ? same_owner(s) : other_owner(s);
}

/* The data that a request displaces is kept as it would have been without the request. */
static GbeRuling
rule_requested(const GbeSituation *s)
{
	GbeRuling r = rule_move(GBE_RULE_2, GBE_DATA_REQUESTED, GBE_DISPLACED_AS_GRADED,
				"a restore was requested");
	GbeRuling without;

	if (s->ostree == GBE_NO)
		return r;
	without = find_ruling(s);
	if (without.rule == GBE_RULE_10A)
		r.displaced = GBE_DISPLACED_BAD;
	else if (without.adopt)
		r.displaced = GBE_DISPLACED_ADOPTED;
	else
		r.displaced = without.displaced;
	r.upgrade = s->owner != GBE_OWNER_SAME;
	return r;
}

void
gbe_rules_apply(const GbeSituation *s, GbeRuling *ret_ruling)
{
	if (hands_off(s, ret_ruling))
		return;
	if (s->request == GBE_REQUEST_IS_READY)
		*ret_ruling = rule_requested(s);
	else if (s->ostree == GBE_NO)
		*ret_ruling = rule_nothing(GBE_RULE_1, "this is not an ostree system");
	else
		*ret_ruling = find_ruling(s);
}

bool
gbe_rules_gate(const GbeSituation *s, GbeRuling *ruling)
{
	static const char why[] = "this deployment's etcd cannot read the data";
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
		*ruling = rule_hold(GBE_RULE_14, GBE_HOLD_UNUSABLE, why);
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
