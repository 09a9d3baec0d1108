/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/verdict.h"

#include <string.h>

#include "app/configuration.h"
#include "app/state.h"
#include "base/fault.h"
#include "core/decide.h"
#include "core/record.h"
#include "etcd/member.h"
#include "fs/probe.h"

#define HEALTHY "healthy, "

static GbeTri
has_data(const GbeData *data)
{
	bool has = false;

	if (data->fd < 0 || data->member_path == NULL)
		return GBE_NO;
	if (!gbe_member_has_data(data->fd, data->member_path, &has, NULL))
		return GBE_UNKNOWN;
	return gbe_tri(has);
}

/* The state's copy where it stands for a fresh start of @run that nobody has seen the data of. */
static bool
read_fresh(GbeApp *app, const char *run, GbeStamp **ret_stamp, GError **error)
{
	g_autoptr(JsonObject) object = NULL;
	g_autoptr(GbeStamp) copy = NULL;
	g_autofree char *json = NULL;

	if (!gbe_state_read(app, GBE_STATE_COPY, TRUE, &object, error))
		return false;
	if (object == NULL)
		return true;
	json = gbe_json_print_object(object);
	/* What is no stamp is found, and set aside, by whoever observes. */
	if (gbe_stamp_parse(json, strlen(json), &copy, NULL) && copy->data_handle == NULL &&
	    g_strcmp0(copy->run, run) == 0)
		*ret_stamp = g_steal_pointer(&copy);
	return true;
}

bool
gbe_verdict_adopt_fresh_stamp(GbeApp *app, GError **error)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeStamp) there = NULL;
	g_autoptr(GbeStamp) fresh = NULL;
	g_autofree char *run = NULL;

	/* A run that cannot be told is nobody's. */
	if (!gbe_run_read(app->root_fd, !app->below_root, &run, NULL))
		return true;
	if (!read_fresh(app, run, &fresh, error))
		return false;
	if (fresh == NULL)
		return true;
	if (!gbe_data_open(app, &data, error))
		return false;
	if (has_data(data) != GBE_YES)
		return true;
	/* A stamp that is there, damaged or not, is not written over. */
	if (!gbe_data_read_stamp_at(data->fd, &there, error))
		return false;
	if (there != NULL)
		return true;
	fresh->mount_point = gbe_tri(data->mount_point);
	if (!gbe_data_write_stamp(data, fresh, error) || GBE_FAULT("verdict-fresh-stamped", error))
		return false;
	fresh->data_handle = gbe_file_handle(data->fd);
	return gbe_state_write_copy(app, fresh, GBE_WRITE_DURABLE, error);
}

bool
gbe_verdict_configure(GbeApp *app, GbeDeployment *ret_booted)
{
	g_autoptr(GbeDeployments) deployments =
	    gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	g_autofree char *complaint = NULL;

	gbe_deployment_copy(ret_booted, &deployments->booted);
	gbe_configuration_load_for_boot(app, ret_booted->id, &complaint);
	/* prerun said it where everybody looks. */
	if (complaint != NULL)
		gbe_note("%s", complaint);
	return app->config->etcd.service != NULL && *app->config->etcd.service != '\0';
}

/* A run is one deployment's from its beginning to its end. */
static void
find_booted(const GbeApp *app, GbeFacts *facts)
{
	const GbeStamp *stamp = gbe_situation_stamp(facts);
	g_autoptr(GbeDeployments) deployments = NULL;

	if (stamp != NULL && facts->run != NULL && g_strcmp0(stamp->run, facts->run) == 0 &&
	    stamp->deployment.id != NULL) {
		gbe_deployment_copy(&facts->booted, &stamp->deployment);
		return;
	}
	deployments = gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	gbe_deployment_copy(&facts->booted, &deployments->booted);
}

bool
gbe_verdict_look(GbeApp *app, const GbeDeployment *booted, GbeFacts **ret_facts, GError **error)
{
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) local = NULL;

	if (booted != NULL)
		gbe_deployment_copy(&facts->booted, booted);
	if (!gbe_run_read(app->root_fd, !app->below_root, &facts->run, &local))
		facts->run_why = g_strdup(local->message);
	g_clear_error(&local);
	if (!gbe_data_open(app, &data, error))
		return false;
	facts->data = has_data(data);
	if (data->fd >= 0) {
		facts->data_handle = gbe_file_handle(data->fd);
		if (!gbe_data_read_stamp_at(data->fd, &facts->stamp, &local))
			facts->stamp_why = g_strdup(local->message);
	}
	if (!gbe_state_observe(app, app->lock != NULL, facts, error))
		return false;
	if (booted == NULL)
		find_booted(app, facts);
	*ret_facts = g_steal_pointer(&facts);
	return true;
}

const GbeStamp *
gbe_verdict_own(const GbeFacts *facts, char **ret_why)
{
	const GbeStamp *stamp = gbe_situation_stamp(facts);

	if (facts->run == NULL) {
		*ret_why = g_strdup(facts->run_why);
	} else if (stamp == NULL) {
		*ret_why = g_strdup(facts->stamp_why != NULL
					? facts->stamp_why
					: "who has the data is not recorded: prerun did not run");
	} else if (g_strcmp0(stamp->run, facts->run) != 0) {
		*ret_why = g_strdup("the data belongs to another run: prerun did not take it over");
	} else if (!gbe_deployment_same(&stamp->deployment, &facts->booted)) {
		*ret_why = g_strdup("the data belongs to another deployment");
	} else {
		return stamp;
	}
	return NULL;
}

GbeRunRecord *
gbe_verdict_record(const GbeFacts *facts, const GbeStamp *own)
{
	const GbeRunRecord *record = gbe_facts_run(facts, own->sequence);

	return record != NULL ? gbe_run_record_copy(record) : gbe_decide_run_record(own);
}

static void
note_id(char **to, guint64 id)
{
	if (id == 0)
		return;
	g_free(*to);
	*to = g_strdup_printf("%016" G_GINT64_MODIFIER "x", id);
}

void
gbe_verdict_note_health(GbeRunRecord *record, const GbeHealthFacts *facts,
			const GbeHealthReport *report)
{
	record->health = report->health;
	if (!record->by_hand) {
		g_free(record->reason);
		record->reason = g_strdup(report->reason);
	}
	/* Another's data is not what this run had. */
	if (gbe_health_is_other_data(facts))
		return;
	if (facts->version != NULL) {
		g_free(record->etcd_version);
		record->etcd_version = g_strdup(facts->version);
	}
	note_id(&record->member_id, facts->member_id);
	note_id(&record->cluster_id, facts->cluster_id);
	record->revision = MAX(record->revision, facts->revision);
	if (facts->voters > 0)
		record->voters = facts->voters;
}

void
gbe_verdict_say_health(const GbeHealthReport *report, GbeEventFields *fields)
{
	fields->reason = report->reason;
	switch (report->health) {
	case GBE_HEALTH_HEALTHY:
		/* "healthy, leader, ...": the event says the first word. */
		if (g_str_has_prefix(report->reason, HEALTHY))
			fields->reason += strlen(HEALTHY);
		gbe_event_healthy(fields);
		break;
	case GBE_HEALTH_UNHEALTHY:
		gbe_event_unhealthy(fields);
		break;
	case GBE_HEALTH_CANNOT_TELL:
	case GBE_HEALTH_NOT_ASKED:
		gbe_event_cannot_tell(fields);
		break;
	}
}

void
gbe_verdict_print_health(const GbeRunRecord *record, JsonObject *object)
{
	gbe_json_set_string(object, "health", gbe_health_to_string(record->health));
	gbe_json_set_string(object, "reason", record->reason);
	gbe_json_set_string(object, "version", record->etcd_version);
	gbe_json_set_string(object, "member_id", record->member_id);
	gbe_json_set_string(object, "cluster_id", record->cluster_id);
	json_object_set_int_member(object, "revision", record->revision);
	json_object_set_int_member(object, "voters", record->voters);
}

static void
read_text(JsonObject *object, const char *key, char **to)
{
	const char *text = gbe_json_string(object, key, NULL);

	if (text == NULL)
		return;
	g_free(*to);
	*to = g_strdup(text);
}

void
gbe_verdict_read_health(JsonObject *object, GbeRunRecord *record)
{
	gint64 voters = gbe_json_int(object, "voters", 0);

	record->health = gbe_health_from_string(gbe_json_string(object, "health", NULL));
	read_text(object, "reason", &record->reason);
	read_text(object, "version", &record->etcd_version);
	read_text(object, "member_id", &record->member_id);
	read_text(object, "cluster_id", &record->cluster_id);
	record->revision = MAX(record->revision, gbe_json_int(object, "revision", -1));
	if (voters > 0)
		record->voters = (guint)voters;
}

gboolean
gbe_verdict_on_trial(const GbeFacts *facts)
{
	const GbeStamp *stamp = gbe_situation_stamp(facts);
	GbeTri trial;

	if (facts->booted.id == NULL)
		return FALSE;
	trial = gbe_situation_trial_of(facts, &facts->booted);
	if (trial != GBE_UNKNOWN)
		return trial == GBE_YES;
	/* Held back before it ever had the data: another deployment's is what it came upon. */
	return stamp != NULL && !gbe_deployment_same(&stamp->deployment, &facts->booted);
}

static gboolean
is_of_run(const GbeManifest *backup, const GbeRunRecord *record)
{
	return !backup->set_aside && backup->sequence >= record->sequence &&
	       g_strcmp0(backup->run, record->run) == 0 &&
	       gbe_deployment_same(&backup->deployment, &record->deployment);
}

void
gbe_verdict_regrade(GbeObserved *observed, const GbeRunRecord *record)
{
	GPtrArray *backups = observed->facts->backups;

	for (guint i = 0; i < backups->len; i++) {
		GbeManifest *backup = backups->pdata[i];
		GbeGrade before = backup->grade;
		g_autoptr(GError) error = NULL;
		GbeEventFields fields = {.backup = backup->name,
					 .deployment = backup->deployment.id,
					 .run = backup->run};

		if (!is_of_run(backup, record) ||
		    (backup->verdict == record->verdict && backup->health == record->health))
			continue;
		backup->verdict = record->verdict;
		backup->health = record->health;
		/* Bad has a reason of its own; a live copy was taken before all that was judged. */
		if (before != GBE_GRADE_BAD && !backup->live)
			backup->grade =
			    gbe_decide_grade(backup->verdict, backup->health, backup->verified);
		if (!gbe_store_write_manifest(observed->store, backup, &error)) {
			gbe_note("the grade of %s could not be written: %s", backup->name,
				 error->message);
		} else if (backup->grade != before) {
			fields.action = gbe_grade_to_string(backup->grade);
			gbe_event_graded(&fields);
		}
	}
}
