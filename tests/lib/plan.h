/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For tests of plans: checks of their content, and the most common scenes. */
#pragma once

#include "lib/facts.h"
#include "lib/rules-text.h"

#include "core/decide/decide.h"

#include <check.h>
#include <string.h>

static inline const GbeAction *
action(const GbePlan *plan, GbeActionKind kind)
{
	const GbeAction *found = gbe_plan_find(plan, kind);

	ck_assert_msg(found != NULL, "no %s in the plan of rule %s", gbe_action_to_string(kind),
		      gbe_rule_to_string(plan->rule));
	ck_assert_ptr_nonnull(found->reason);
	return found;
}

static inline void
no_action(const GbePlan *plan, GbeActionKind kind)
{
	ck_assert_msg(gbe_plan_find(plan, kind) == NULL, "%s in the plan of rule %s",
		      gbe_action_to_string(kind), gbe_rule_to_string(plan->rule));
}

static inline void
assert_rules(const GbePlan *plan, const char *expected)
{
	g_autofree char *text = plan_rules_to_text(plan);

	ck_assert_str_eq(text, expected);
	ck_assert_ptr_nonnull(plan->reason);
}

static inline void
assert_owner(const GbeDeployment *owner, char letter)
{
	g_autofree char *id = facts_id(letter);

	ck_assert_str_eq(owner->id, id);
}

/* The data is A's, green, and has a run record. @letter is booted in run 51. */
static inline GbeFacts *
after_green_a(char letter)
{
	GbeFacts *facts = facts_booted(letter, 51);

	(void)facts_list(facts, 'a', 1000);
	if (letter != 'a')
		(void)facts_list(facts, letter, 2000);
	(void)facts_owner(facts, 'a', 50, 90);
	(void)facts_record(facts, 'a', 50, 90, GBE_VERDICT_GREEN);
	return facts;
}

/* B took A's data over, was judged and was not green. @letter is booted. */
static inline GbeFacts *
after_failed_b(char letter, GbeManifest **ret_base)
{
	GbeFacts *facts = facts_booted(letter, 52);

	(void)facts_list(facts, 'a', 1000);
	(void)facts_list(facts, 'b', 2000);
	(void)facts_record(facts, 'a', 50, 90, GBE_VERDICT_GREEN);
	*ret_base = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	(void)facts_trial(facts, 'b', 51, 92, *ret_base);
	facts_record(facts, 'b', 51, 92, GBE_VERDICT_RED)->trial = GBE_YES;
	return facts;
}

/* B is green and has the data. A, once green, is booted: the default entry was changed. */
static inline GbeFacts *
deliberate_return(GbeManifest **ret_candidate)
{
	GbeFacts *facts = facts_booted('a', 60);

	(void)facts_list(facts, 'a', 1000);
	(void)facts_list(facts, 'b', 2000);
	(void)facts_record(facts, 'a', 50, 90, GBE_VERDICT_GREEN);
	*ret_candidate = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	(void)facts_owner(facts, 'b', 59, 95);
	(void)facts_record(facts, 'b', 59, 95, GBE_VERDICT_GREEN);
	return facts;
}

static inline GbeFacts *
written_by_others(GbeManifest **ret_closing)
{
	GbeFacts *facts = after_green_a('a');
	GbeTakeOver *owner = facts->owner;

	*ret_closing = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);
	owner->closing.present = true;
	facts_set_fingerprint(&owner->closing.fingerprint, 77);
	owner->closing.used = 100;
	owner->closing.next = facts_id('z');
	owner->closing.at = facts->last_write - 600;
	gbe_backup_ref_set(&owner->closing.backup, gbe_manifest_ref(*ret_closing));
	return facts;
}
