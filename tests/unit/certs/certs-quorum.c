/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Every cluster of up to four members, and every change of it. Each member is a voter or a learner, has started or not,
 * and is healthy, unhealthy or unknown. A change that is allowed leaves the cluster more than half of its voters.
 */
#include "lib/unit.h"

#include "certs/core/quorum.h"

#define MEMBERS 4
#define KINDS 12

static const GbeTri tri[] = {GBE_NO, GBE_YES, GBE_UNKNOWN};

static void
fill(GbeVoter *members, guint count, guint code)
{
	static const char *const names[] = {"a", "b", "c", "d"};

	for (guint i = 0; i < count; i++, code /= KINDS)
		members[i] = (GbeVoter){.id = i + 1,
					.name = names[i],
					.learner = code % 2 == 1,
					.started = code / 2 % 2 == 1,
					.works = tri[code / 4 % 3]};
}

/* The cluster after the change, by the change's own definition. */
static bool
lives_after(const GbeVoter *members, guint count, GbeQuorumChange change, guint64 id)
{
	guint voters = 0, working = 0, before, ignored;

	gbe_quorum_count(members, count, &before, &ignored);
	for (guint i = 0; i < count; i++) {
		bool is_it = members[i].id == id;
		bool votes = !members[i].learner || (is_it && change == GBE_QUORUM_PROMOTE);
		bool away =
		    change == GBE_QUORUM_STOP || (change == GBE_QUORUM_UPDATE && before > 1);
		bool works = members[i].works == GBE_YES && !(is_it && away);

		if (!votes || (is_it && change == GBE_QUORUM_REMOVE))
			continue;
		voters++;
		working += works ? 1 : 0;
	}
	voters += change == GBE_QUORUM_ADD_VOTER ? 1 : 0;
	return voters > 0 && 2 * working > voters;
}

static bool
may_add(const GbeVoter *members, guint count)
{
	for (guint i = 0; i < count; i++)
		if (members[i].learner || !members[i].started)
			return false;
	return true;
}

static void
check_one(const GbeVoter *members, guint count, GbeQuorumChange change, guint64 id)
{
	g_autofree char *why = gbe_quorum_refusal(members, count, change, id);
	bool adds = change == GBE_QUORUM_ADD_VOTER || change == GBE_QUORUM_ADD_LEARNER;
	bool lives = lives_after(members, count, GBE_QUORUM_ADD_LEARNER, 0);
	bool is_voter = id > 0 && !members[id - 1].learner;
	bool expected = lives && lives_after(members, count, change, id) &&
			(!adds || may_add(members, count)) &&
			!(change == GBE_QUORUM_PROMOTE && is_voter);

	ck_assert_msg((why == NULL) == expected, "%u members, change %u of %u: %s", count, change,
		      (guint)id, why != NULL ? why : "allowed");
}

START_TEST(all)
{
	GbeVoter members[MEMBERS];

	for (guint count = 1, codes = KINDS; count <= MEMBERS; count++, codes *= KINDS)
		for (guint code = 0; code < codes; code++) {
			fill(members, count, code);
			for (guint64 id = 1; id <= count; id++) {
				check_one(members, count, GBE_QUORUM_STOP, id);
				check_one(members, count, GBE_QUORUM_UPDATE, id);
				check_one(members, count, GBE_QUORUM_REMOVE, id);
				check_one(members, count, GBE_QUORUM_PROMOTE, id);
			}
			check_one(members, count, GBE_QUORUM_ADD_VOTER, 0);
			check_one(members, count, GBE_QUORUM_ADD_LEARNER, 0);
		}
}
END_TEST

START_TEST(words)
{
	GbeVoter members[] = {{1, "a", false, true, GBE_YES}, {2, "b", true, true, GBE_YES}};
	g_autofree char *voter = gbe_quorum_refusal(members, 1, GBE_QUORUM_ADD_VOTER, 0);
	g_autofree char *learner = gbe_quorum_refusal(members, 2, GBE_QUORUM_ADD_LEARNER, 0);
	g_autofree char *last = gbe_quorum_refusal(members, 2, GBE_QUORUM_REMOVE, 1);
	const GbeVoter two[] = {{1, "a", false, true, GBE_YES}, {2, "b", false, true, GBE_YES}};
	g_autofree char *alone = gbe_quorum_refusal(members, 1, GBE_QUORUM_UPDATE, 1);
	g_autofree char *moved = gbe_quorum_refusal(two, 2, GBE_QUORUM_UPDATE, 2);

	ck_assert_ptr_null(alone);
	ck_assert_str_eq(moved,
			 "the cluster would stop: of 2 voters only 1 would work, and 2 have to");
	ck_assert_str_eq(voter,
			 "the cluster would stop: of 2 voters only 1 would work, and 2 have to");
	ck_assert_str_eq(learner, "there is a learner already, b: promote or remove it first");
	ck_assert_str_eq(last, "it is the last voter: the cluster would be gone");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("certs-quorum");
	TCase *tcase = tcase_create("quorum");

	tcase_add_test(tcase, all);
	tcase_add_test(tcase, words);
	suite_add_tcase(suite, tcase);
	return gbe_unit_main(suite);
}
