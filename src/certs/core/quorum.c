/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/core/quorum.h"

guint
gbe_quorum_of(guint voters)
{
	return voters / 2 + 1;
}

void
gbe_quorum_count(const GbeVoter *members, guint count, guint *ret_voters, guint *ret_working)
{
	*ret_voters = *ret_working = 0;
	for (guint i = 0; i < count; i++) {
		*ret_voters += members[i].learner ? 0 : 1;
		*ret_working += !members[i].learner && members[i].works == GBE_YES ? 1 : 0;
	}
}

/* Refuse a second member while the first has not started: the first may never start. */
static char *
refuse_to_add(const GbeVoter *members, guint count)
{
	for (guint i = 0; i < count; i++) {
		if (members[i].learner)
			return g_strdup_printf(
			    "there is a learner already, %s: promote or remove it "
			    "first",
			    members[i].name);
		if (!members[i].started)
			return g_strdup_printf("member %s was added and has not started yet: start "
					       "or remove it first",
					       members[i].name);
	}
	return NULL;
}

char *
gbe_quorum_refusal(const GbeVoter *members, guint count, GbeQuorumChange change, guint64 id)
{
	const GbeVoter *member = NULL;
	guint voters, working;
	bool votes, works;
	bool adds = change == GBE_QUORUM_ADD_VOTER || change == GBE_QUORUM_ADD_LEARNER;
	char *why = adds ? refuse_to_add(members, count) : NULL;

	if (why != NULL)
		return why;
	gbe_quorum_count(members, count, &voters, &working);
	for (guint i = 0; i < count && member == NULL; i++)
		if (members[i].id == id)
			member = &members[i];
	votes = member != NULL && !member->learner;
	works = member != NULL && member->works == GBE_YES;
	if (working < gbe_quorum_of(voters))
		return g_strdup_printf(
		    "the cluster takes no change: of %u voters only %u work, and "
		    "%u have to",
		    voters, working, gbe_quorum_of(voters));
	switch (change) {
	case GBE_QUORUM_ADD_LEARNER:
		return NULL;
	case GBE_QUORUM_ADD_VOTER:
		voters++;
		break;
	case GBE_QUORUM_PROMOTE:
		if (votes)
			return g_strdup_printf("member %s is a voter already", member->name);
		voters++;
		working += works ? 1 : 0;
		break;
	case GBE_QUORUM_REMOVE:
		voters -= votes ? 1 : 0;
		working -= votes && works ? 1 : 0;
		if (voters == 0)
			return g_strdup("it is the last voter: the cluster would be gone");
		break;
	case GBE_QUORUM_UPDATE:
		/* An only voter needs no address. */
		working -= votes && works && voters > 1 ? 1 : 0;
		break;
	case GBE_QUORUM_STOP:
		working -= votes && works ? 1 : 0;
		break;
	}
	if (working >= gbe_quorum_of(voters))
		return NULL;
	return g_strdup_printf(
	    "the cluster would stop: of %u voters only %u would work, and %u have "
	    "to",
	    voters, working, gbe_quorum_of(voters));
}
