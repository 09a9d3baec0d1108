/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/rehearse/questions.h"

/* With users, etcd computes a slow hash of the password. */
#define ASK_USEC (2 * G_USEC_PER_SEC)
#define ANSWER_USEC (30 * G_USEC_PER_SEC)
#define KEY "greenboot-etcd/rehearsal"

static gint64
soon(void)
{
	return g_get_monotonic_time() + ANSWER_USEC;
}

static bool
is_ready(gpointer data)
{
	GbeQuestions *questions = data;
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdStatus status = {{0}};
	bool ready;

	if (!gbe_etcd_copy_connect(questions->copy, &failure))
		return false;
	if (!gbe_client_status(questions->copy->client, g_get_monotonic_time() + ASK_USEC, &status,
			       &failure))
		return failure.reach == GBE_REACH_NO_USER;
	ready = status.leader != 0;
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return ready;
}

/* True: etcd refused, for it asks for a user, as today's etcd would. */
static bool
no_answer(GbeQuestions *questions, const char *question, const GbeCallFailure *failure,
	  GError **error)
{
	bool starved = gbe_walled_is_starved(&questions->copy->run, ANSWER_USEC / G_USEC_PER_SEC);

	if (failure->reach == GBE_REACH_NO_USER) {
		questions->refused = true;
		return true;
	}
	return gbe_throw(error, starved ? GBE_ERROR_CANNOT_TELL : GBE_ERROR_VERIFY_FAILED,
			 "etcd does not answer %s%s: %s", question,
			 starved ? ", as the device is busy" : "",
			 failure->why != NULL ? failure->why : "no reason given");
}

/* Revisions before the first row are etcd's own matter, so 0 is not compared. */
static bool
check_status(GbeQuestions *questions, const GbeEtcdStatus *status, GError **error)
{
	const GbeDirectory *before = questions->before;
	const GbeWalMetadata *own = &before->wal.metadata;
	gint64 least = MAX(before->db.revision, questions->revision);

	if (before->wal.has_metadata &&
	    (status->header.member_id != own->member || status->header.cluster_id != own->cluster))
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "etcd says that it is another member or cluster");
	if (status->header.revision < least)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "etcd is at revision %" G_GINT64_FORMAT
				 ", and the data at %" G_GINT64_FORMAT,
				 status->header.revision, least);
	questions->revision = status->header.revision;
	g_free(questions->version);
	questions->version = g_strdup(status->version);
	return true;
}

/* A compaction in the log, which etcd has applied meanwhile, changes the hash. */
static bool
check_hash(GbeQuestions *questions, GError **error)
{
	const GbeDb *db = &questions->before->db;
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdHashKv hash = {{0}};

	if (!db->has_hash_kv || db->revision <= 0)
		return true;
	if (!gbe_client_hash_kv(questions->copy->client, db->revision, soon(), &hash, &failure))
		return failure.reach == GBE_REACH_DENIED && failure.status == GBE_GRPC_OUT_OF_RANGE
			   ? true
			   : no_answer(questions, "HashKV", &failure, error);
	return hash.compact_revision != db->compact_revision || hash.hash == db->hash_kv ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "etcd has other keys than the data at revision %" G_GINT64_FORMAT,
			 db->revision);
}

static bool
check_key(GbeQuestions *questions, gint64 wanted, GError **error)
{
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdRange range = {{0}};

	if (!gbe_client_count(questions->copy->client, KEY, soon(), &range, &failure))
		return no_answer(questions, "a get", &failure, error);
	return range.count == wanted || gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "etcd %s",
						  wanted == 1 ? "does not have a key that it took"
							      : "has a key that it deleted");
}

static bool
write_key(GbeQuestions *questions, GError **error)
{
	GbeClient *client = questions->copy->client;
	g_auto(GbeCallFailure) failure = {0};

	/* With an alarm, etcd refuses to write today, too. */
	if (!gbe_client_write(client, KEY, "rehearsal", soon(), &failure))
		return (failure.reach == GBE_REACH_DENIED && questions->before->db.refuses) ||
		       no_answer(questions, "a put", &failure, error);
	if (!check_key(questions, 1, error))
		return false;
	if (!gbe_client_write(client, KEY, NULL, soon(), &failure))
		return no_answer(questions, "a delete", &failure, error);
	questions->revision += 2;
	return check_key(questions, 0, error);
}

bool
gbe_questions_ask(GbeQuestions *questions, const GbeWalledWait *wait, bool write, GError **error)
{
	GbeWalledWait until = *wait;
	g_auto(GbeCallFailure) failure = {0};
	GbeEtcdStatus status = {{0}};
	bool ok;

	until.ready = is_ready;
	until.ready_data = questions;
	if (!gbe_walled_wait(&questions->copy->run, &until, error))
		return false;
	if (!gbe_client_status(questions->copy->client, soon(), &status, &failure))
		return no_answer(questions, "status", &failure, error);
	ok = check_status(questions, &status, error);
	gbe_message_clear(GBE_MESSAGE_STATUS, &status);
	return ok && check_hash(questions, error) && (!write || write_key(questions, error));
}

/* The log may have had requests that the database lacked: then its keys have changed. */
bool
gbe_questions_check_files(const GbeQuestions *questions, const GbeDirectory *after, GError **error)
{
	const GbeDb *then = &questions->before->db, *now = &after->db;
	bool same_point = now->revision == then->revision &&
			  now->compact_revision == then->compact_revision && now->has_hash_kv &&
			  then->has_hash_kv;

	if (!questions->refused)
		return true;
	if (now->revision < then->revision)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "etcd left revision %" G_GINT64_FORMAT
				 ", and the data is at %" G_GINT64_FORMAT,
				 now->revision, then->revision);
	return !same_point || now->hash_kv == then->hash_kv ||
	       gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "etcd left other keys than the data has at revision %" G_GINT64_FORMAT,
			 now->revision);
}
