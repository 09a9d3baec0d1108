/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/api/client.h"

/* The same key as etcdctl's; it need not exist. */
#define KEY "health"

/* Notes the answer to a question, or why it has none. Returns @answered. */
static bool
note_answer(GbeQuestion *question, bool answered, GbeCallFailure *failure)
{
	g_free(question->why);
	*question = (GbeQuestion){.reach = GBE_REACH_ANSWERED};
	if (!answered) {
		question->reach = failure->reach;
		question->status = failure->status;
		question->why = g_steal_pointer(&failure->why);
	}
	return answered;
}

static bool
ask_status(GbeClient *client, gint64 deadline, GbeHealthFacts *facts)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdStatus status = {{0}};

	if (!note_answer(&facts->status, gbe_client_status(client, deadline, &status, &failure),
			 &failure))
		return false;
	facts->version = g_steal_pointer(&status.version);
	facts->storage_version = g_steal_pointer(&status.storage_version);
	facts->cluster_id = status.header.cluster_id;
	facts->member_id = status.header.member_id;
	facts->revision = status.header.revision;
	facts->db_size = status.db_size;
	facts->db_in_use = status.db_in_use;
	facts->quota = status.quota > 0 ? status.quota : facts->quota;
	facts->leader = status.leader;
	facts->raft_index = status.raft_index;
	facts->raft_applied = status.raft_applied;
	facts->learner = status.learner;
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return true;
}

static void
ask_members(GbeClient *client, gint64 deadline, GbeHealthFacts *facts)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdMembers members = {{0}};

	if (!note_answer(&facts->members, gbe_client_members(client, deadline, &members, &failure),
			 &failure))
		return;
	facts->member_count = members.list != NULL ? members.list->len : 0;
	facts->voters = gbe_etcd_members_voters(&members);
	gbe_message_clear(GBE_MESSAGE_MEMBERS, &members);
}

/* The proposal; its answer is the list of alarms. */
static void
ask_write(GbeClient *client, gint64 deadline, GbeHealthFacts *facts)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdAlarms alarms = {{0}};

	if (!note_answer(&facts->write, gbe_client_alarms(client, deadline, &alarms, &failure),
			 &failure))
		return;
	for (guint i = 0; alarms.list != NULL && i < alarms.list->len; i++) {
		guint64 alarm = g_array_index(alarms.list, GbeEtcdAlarm, i).alarm;

		facts->no_space = facts->no_space || alarm == GBE_ALARM_NOSPACE;
		facts->corrupt = facts->corrupt || alarm == GBE_ALARM_CORRUPT;
		facts->other_alarm = facts->other_alarm || alarm > GBE_ALARM_CORRUPT;
	}
	gbe_message_clear(GBE_MESSAGE_ALARMS, &alarms);
}

static void
ask_read(GbeClient *client, gint64 deadline, GbeHealthFacts *facts)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdRange range = {{0}};

	if (note_answer(&facts->read, gbe_client_count(client, KEY, deadline, &range, &failure),
			&failure))
		facts->revision = MAX(facts->revision, range.header.revision);
}

void
gbe_health_inquire(const GbeEndpoint *endpoint, gint64 deadline, GbeClient **client,
		   GbeHealthFacts *facts)
{
	g_auto(GbeCallFailure) failure = {0};
	double quota = 0;

	if (*client == NULL && !gbe_client_open(endpoint, client, &failure)) {
		(void)note_answer(&facts->status, false, &failure);
		return;
	}
	if (!ask_status(*client, deadline, facts))
		return;
	ask_members(*client, deadline, facts);
	/* A learner denies both, and no decision needs its answer. */
	if (!facts->learner) {
		ask_write(*client, deadline, facts);
		/* A server that was late once is not asked again. */
		if (facts->write.reach != GBE_REACH_LATE)
			ask_read(*client, deadline, facts);
	}
	/* etcd 3.6 has its quota in the status, an older one in its metrics only. */
	if (facts->quota <= 0 && facts->write.reach != GBE_REACH_LATE &&
	    facts->read.reach != GBE_REACH_LATE &&
	    gbe_client_gauge(*client, GBE_GAUGE_QUOTA, deadline, &quota) &&
	    quota < (double)G_MAXINT64)
		facts->quota = (gint64)quota;
}
