/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* For tests of what facts mean: the two basic scenes. */
#pragma once

#include "lib/facts.h"

#include "core/decide/situation.h"

#include <string.h>

static inline void
derive(const GbeFacts *facts, GbeSituation *ret_s)
{
	GbeView view;

	gbe_view_live(facts, &view);
	gbe_situation_derive(facts, &view, false, ret_s);
}

/* B is booted in run 51 on data of A's run 50, which was green. */
static inline GbeFacts *
device(void)
{
	GbeFacts *facts = facts_booted('b', 51);

	(void)facts_list(facts, 'b', 2000);
	(void)facts_list(facts, 'a', 1000);
	(void)facts_owner(facts, 'a', 50, 90);
	(void)facts_record(facts, 'a', 50, 90, GBE_VERDICT_GREEN);
	return facts;
}

/* The data is from B's own trial, which has a base. */
static inline GbeFacts *
own_trial(GbeVerdict verdict)
{
	GbeFacts *facts = facts_booted('b', 52);
	GbeManifest *base = facts_backup(facts, 'a', 50, 91, GBE_GRADE_GOOD);

	(void)facts_list(facts, 'b', 2000);
	(void)facts_list(facts, 'a', 1000);
	(void)facts_trial(facts, 'b', 51, 92, base);
	facts_record(facts, 'b', 51, 92, verdict)->trial = GBE_YES;
	return facts;
}
