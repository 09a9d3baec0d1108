/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/health/verdict.h"

#include <string.h>

#include "app/backup/observe.h"
#include "app/backup/recover.h"
#include "app/state/configuration.h"
#include "app/state/ledger.h"
#include "app/state/state.h"
#include "base/fault.h"
#include "base/format.h"
#include "core/decide/decide.h"
#include "core/decide/past.h"
#include "core/decide/situation.h"
#include "etcd/directory/member.h"

#define HEALTHY "healthy, "

/* Fills in what the ledger says of the present data. */
static bool
identify(GbeApp *app, GbeData **ret_data, GbeFacts **ret_facts, GError **error)
{
	g_autoptr(GbeFacts) facts = gbe_facts_new();
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GError) local = NULL;
	bool has = false;

	if (!gbe_run_read(app->root_fd, !app->below_root, &facts->run, &local))
		facts->run_why = g_strdup(local->message);
	if (!gbe_data_open(app, &data, error))
		return false;
	if (data->fd < 0 || data->member_path == NULL)
		facts->data = GBE_NO;
	else if (gbe_member_has_data(data->fd, data->member_path, &has, NULL))
		facts->data = gbe_tri(has);
	else
		facts->data = GBE_UNKNOWN;
	gbe_data_observe_identity(data, facts);
	gbe_state_observe(app, facts);
	gbe_identify(facts);
	*ret_data = g_steal_pointer(&data);
	*ret_facts = g_steal_pointer(&facts);
	return true;
}

bool
gbe_verdict_note_tree(GbeApp *app, GError **error)
{
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeTakeOver) seen = NULL;
	const GbeTakeOver *last;

	if (!identify(app, &data, &facts, error))
		return false;
	if (facts->take_overs->len == 0 || facts->data != GBE_YES || facts->run == NULL)
		return true;
	last = facts->take_overs->pdata[facts->take_overs->len - 1];
	if (last->tree != NULL || !gbe_facts_is_this_run(facts, last->run))
		return true;
	seen = gbe_take_over_copy(last);
	seen->tree = g_strdup(facts->tree);
	seen->nonce = gbe_ledger_nonce();
	seen->mount_point = gbe_tri(data->mount_point);
	return gbe_state_note_tree(app, seen, error) && !GBE_FAULT("verdict-tree-noted", error) &&
	       gbe_data_write_nonce_at(app, data->fd, seen, error);
}

bool
gbe_verdict_record_late(GbeApp *app, const GbeData *data, const GbeFacts *facts, bool *ret_recorded,
			GError **error)
{
	g_autoptr(GbeTakeOver) late = gbe_decide_late(facts);
	GbeEventFields fields = {.deployment = facts->booted.id,
				 .reason = "its start took nothing over, so nothing was backed up"};

	if (ret_recorded != NULL)
		*ret_recorded = late != NULL;
	if (late == NULL)
		return true;
	late->nonce = gbe_ledger_nonce();
	if (!gbe_state_take_over(app, late, GBE_WRITE_DURABLE, error) ||
	    GBE_FAULT("verdict-late-recorded", error) ||
	    !gbe_data_write_nonce_at(app, data->fd, late, error))
		return false;
	fields.run = late->run;
	fields.from_deployment = facts->owner->deployment.id;
	gbe_event_took_over(&fields);
	return true;
}

bool
gbe_verdict_note_use(GbeApp *app, GError **error)
{
	static const GbeObserveOptions options = {.tolerant = true};
	g_autoptr(GbeFacts) facts = NULL;
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeObserved) observed = NULL;

	if (!gbe_verdict_note_tree(app, error) || !identify(app, &data, &facts, error))
		return false;
	/* All facts are looked at only where a take-over is missing. */
	if (facts->owner == NULL || facts->data != GBE_YES ||
	    gbe_situation_own(facts, NULL) != NULL)
		return true;
	return gbe_observe(app, &options, &observed, error) &&
	       gbe_verdict_record_late(app, observed->data, observed->facts, NULL, error);
}

void
gbe_verdict_finish_restore(GbeApp *app)
{
	g_autoptr(GbeIntent) intent = NULL;
	g_autoptr(GError) error = NULL;

	if ((!gbe_state_read_intent(app, &intent, &error) ||
	     (intent != NULL && !gbe_recover_here(app, NULL, &error))))
		gbe_note("an interrupted restore is not finished: %s", error->message);
}

bool
gbe_verdict_configure(GbeApp *app, GbeDeployment *ret_booted)
{
	g_autoptr(GbeDeployments) deployments =
	    gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	g_autofree char *complaint = NULL;

	gbe_deployment_copy(ret_booted, &deployments->booted);
	gbe_configuration_load_for_boot(app, ret_booted->id, &complaint);
	/* prerun has reported it where everybody looks. */
	if (complaint != NULL)
		gbe_note("%s", complaint);
	return !gbe_config_is_off(app->config);
}

bool
gbe_verdict_look(GbeApp *app, const GbeDeployment *booted, GbeFacts **ret_facts, GError **error)
{
	g_autoptr(GbeData) data = NULL;
	g_autoptr(GbeDeployments) deployments = NULL;
	const GbeFacts *facts;

	if (!identify(app, &data, ret_facts, error))
		return false;
	facts = *ret_facts;
	/* A run has the same deployment from its beginning to its end. */
	if (booted == NULL && gbe_facts_taken_in_this_run(facts) &&
	    facts->owner->deployment.id != NULL)
		booted = &facts->owner->deployment;
	if (booted == NULL) {
		deployments = gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
		booted = &deployments->booted;
	}
	gbe_deployment_copy(&(*ret_facts)->booted, booted);
	return true;
}

GbeRunRecord *
gbe_verdict_record(const GbeFacts *facts, const GbeTakeOver *own)
{
	const GbeRunRecord *record = gbe_facts_run(facts, own->sequence);

	return record != NULL ? gbe_run_record_copy(record) : gbe_run_record_of(own);
}

static void
note_id(char **to, guint64 id)
{
	if (id == 0)
		return;
	g_free(*to);
	*to = gbe_hex64(id);
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
	/* The etcd that answers has other data than this run. */
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
		/* "healthy, 3.5.16, ...": the event has the first word already. */
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

		if (!gbe_decide_regrade(record, backup))
			continue;
		if (!gbe_store_write_manifest(observed->store, backup, &error)) {
			gbe_note("the grade of %s could not be written: %s", backup->name,
				 error->message);
		} else if (backup->grade != before) {
			fields.action = gbe_grade_to_string(backup->grade);
			gbe_event_graded(&fields);
		}
	}
}
