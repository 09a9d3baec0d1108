/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/health/look.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "app/backups/data.h"
#include "app/health/verdict.h"
#include "app/state/state.h"
#include "core/decide/situation.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "etcd/api/client.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "etcd/tls/pem.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "sys/systemd/units.h"

/* The name of etcd's new database while etcd writes it (etcd.md, section 10); one left by a crash is older. */
#define DEFRAG_PREFIX "db.tmp."
#define DEFRAG_SECONDS 15
/* A person waits. */
#define BRIEF_MS 300

GbeHealthLook *
gbe_health_look_new(GbeApp *app)
{
	GbeHealthLook *look = g_new0(GbeHealthLook, 1);

	look->app = app;
	look->facts = gbe_health_facts_new();
	gbe_health_facts_configure(look->facts, app->config);
	gbe_app_endpoint(app, &look->at);
	return look;
}

void
gbe_health_look_free(GbeHealthLook *look)
{
	if (look == NULL)
		return;
	gbe_client_close(look->client);
	gbe_health_report_free(look->report);
	gbe_health_facts_free(look->facts);
	gbe_app_endpoint_clear(&look->at);
	g_free(look);
}

/* Did the check find etcd well, and with the data open, in the last run before this trial? */
static bool
was_healthy_before(const GbeFacts *facts)
{
	const GbeRunRecord *last = NULL;

	for (guint i = 0; facts->owner != NULL && i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (run->sequence < facts->owner->trial.since &&
		    run->health != GBE_HEALTH_NOT_ASKED &&
		    (last == NULL || run->sequence > last->sequence))
			last = run;
	}
	return last != NULL && last->health == GBE_HEALTH_HEALTHY;
}

/* Uses only this run's data: the data of another run says nothing about the etcd that answers. */
void
gbe_health_look_expect(GbeHealthLook *look, const GbeFacts *facts)
{
	GbeHealthFacts *to = look->facts;
	const GbeTakeOver *owner;
	const GbeRunRecord *run;

	to->on_trial = gbe_situation_booted_on_trial(facts);
	to->began_empty = gbe_situation_began_empty(facts);
	to->opened_before = was_healthy_before(facts);
	if (!gbe_facts_taken_in_this_run(facts))
		return;
	owner = facts->owner;
	g_free(to->expected_member_id);
	g_free(to->expected_cluster_id);
	to->expected_member_id = g_strdup(owner->member_id);
	to->expected_cluster_id = g_strdup(owner->cluster_id);
	to->data_refused = gbe_version_above(facts->cluster_version, facts->etcd_version);
	/* etcd's revision cannot fall below the one that this run's own check has seen. */
	run = gbe_facts_this_run(facts);
	to->expected_revision = run != NULL ? run->revision : -1;
}

void
gbe_health_look_expect_own(GbeHealthLook *look)
{
	g_autoptr(GbeFacts) facts = NULL;

	if (!gbe_app_open_state(look->app, false, NULL) ||
	    !gbe_verdict_look(look->app, NULL, &facts, NULL))
		return;
	gbe_health_look_expect(look, facts);
}

static GbeServiceState
service_state(const GbeUnitState *state)
{
	const char *active = state->active_state;

	if (g_strcmp0(state->load_state, "not-found") == 0)
		return GBE_SERVICE_NOT_FOUND;
	if (g_strcmp0(state->load_state, "masked") == 0)
		return GBE_SERVICE_MASKED;
	if (g_strcmp0(active, "active") == 0 || g_strcmp0(active, "reloading") == 0)
		return GBE_SERVICE_RUNNING;
	if (g_strcmp0(active, "activating") == 0)
		return GBE_SERVICE_ACTIVATING;
	/* A service that systemd has restarted and that is failed now has reached its limit of starts. Its result is that
	 * of its last attempt, or "start-limit-hit". */
	if (g_strcmp0(active, "failed") == 0)
		return state->restarts > 0 || g_strcmp0(state->result, "start-limit-hit") == 0
			   ? GBE_SERVICE_START_LIMIT
			   : GBE_SERVICE_FAILED;
	if (g_strcmp0(active, "inactive") == 0 &&
	    g_strcmp0(state->unit_file_state, "disabled") == 0)
		return GBE_SERVICE_NOT_ENABLED;
	return GBE_SERVICE_INACTIVE;
}

static void
look_at_service(GbeApp *app, GbeHealthFacts *facts)
{
	const char *unit = app->config->etcd.service;
	g_autoptr(JsonObject) done = gbe_prerun_done_read(app);
	GbeUnitState state = {NULL};

	facts->held = done != NULL && gbe_json_bool(done, "held", false);
	g_free(facts->held_why);
	facts->held_why =
	    facts->held
		? g_strdup(gbe_json_string(done, "why", gbe_json_string(done, "reason", NULL)))
		: NULL;
	facts->hold = facts->held
			  ? gbe_words_find(&gbe_hold_words, gbe_json_string(done, "hold", NULL))
			  : GBE_HOLD_NO;
	facts->service = GBE_SERVICE_UNKNOWN;
	if (app->below_root || unit == NULL || !gbe_unit_query(unit, &state, NULL))
		return;
	facts->service = service_state(&state);
	/* A person has masked prerun, as its message advises, and started etcd. */
	if (facts->service == GBE_SERVICE_RUNNING) {
		facts->held = false;
		g_clear_pointer(&facts->held_why, g_free);
	}
	facts->notifies = state.type != NULL && g_str_has_prefix(state.type, "notify");
	gbe_unit_state_clear(&state);
}

static bool
is_defragmenting(const GbeData *data, gint64 now)
{
	gbe_autofd int fd = -1;
	g_auto(GbeList) list = {NULL};
	const char *name;

	if (data->member_path == NULL ||
	    !gbe_layout_open(data->fd, data->member_path, "member/snap", &fd, NULL))
		return false;
	list = gbe_list_open_at(fd, "member/snap");
	while ((name = gbe_list_next(&list)) != NULL) {
		struct stat st;

		if (g_str_has_prefix(name, DEFRAG_PREFIX) &&
		    fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    now >= (gint64)st.st_mtime && now - (gint64)st.st_mtime <= DEFRAG_SECONDS)
			return true;
	}
	return false;
}

/* A caller that may not look into the data gets the rest. */
static void
look_at_data(GbeApp *app, GbeHealthFacts *facts)
{
	g_autoptr(GbeData) data = NULL;
	struct statvfs vfs;

	facts->read_only = GBE_UNKNOWN;
	facts->size = facts->free = facts->inodes = facts->inodes_free = -1;
	if (!gbe_data_open(app, &data, NULL) || data->fd < 0 || fstatvfs(data->fd, &vfs) < 0)
		return;
	facts->read_only = gbe_tri(gbe_filesystem_read_only_for_all(data->fd));
	facts->size = (gint64)(vfs.f_blocks * vfs.f_frsize);
	facts->free = (gint64)(vfs.f_bavail * vfs.f_frsize);
	facts->inodes = (gint64)vfs.f_files;
	facts->inodes_free = (gint64)vfs.f_ffree;
	facts->defragmenting = is_defragmenting(data, facts->now);
}

/* Called after etcd was asked. An empty data directory counts as not open. */
static void
look_at_open(GbeApp *app, GbeHealthFacts *facts)
{
	g_autoptr(GbeData) data = NULL;

	if (facts->status.reach != GBE_REACH_ANSWERED || !gbe_data_open(app, &data, NULL))
		return;
	facts->opens_db = facts->opens_log = GBE_NO;
	if (data->fd >= 0 && data->member_path != NULL)
		gbe_opened(data->fd, data->member_path, data->wal_fd, &facts->opens_db,
			   &facts->opens_log);
}

void
gbe_health_look_now(GbeHealthLook *look, guint timeout_ms)
{
	const GbeEndpoint *endpoint = &look->at.endpoint;
	GbeHealthFacts *facts = look->facts;
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;

	gbe_health_facts_reset(facts);
	facts->now = g_get_real_time() / G_USEC_PER_SEC;
	look_at_service(look->app, facts);
	look_at_data(look->app, facts);
	if (g_ascii_strncasecmp(endpoint->endpoint != NULL ? endpoint->endpoint : "", "https://",
				strlen("https://")) == 0)
		gbe_certificates_look(endpoint->cacert, endpoint->cert, endpoint->key, facts->tls);
	if (gbe_health_needs_asking(facts))
		gbe_health_inquire(endpoint, deadline, &look->client, facts);
	look_at_open(look->app, facts);
	gbe_health_report_free(look->report);
	look->report = gbe_health_judge(facts);
}

/* The monitor's last answer in words: "healthy 2 min ago". NULL: it is not known. */
static char *
read_last_answer(GbeHealthLook *look)
{
	GbeApp *app = look->app;
	g_autoptr(JsonObject) whole = NULL;
	g_autofree char *bytes = NULL, *age = NULL;
	gbe_autofd int fd = -1;
	JsonObject *etcd = NULL;
	gint64 seconds;
	gsize size = 0;
	struct stat st;
	bool healthy;

	if (!gbe_open_in_root(app->root_fd, GBE_STATUS_FILE, O_RDONLY, &fd, NULL) ||
	    fstat(fd, &st) < 0 ||
	    !gbe_read_in_root(app->root_fd, GBE_STATUS_FILE, GBE_JSON_MAX_SIZE, &bytes, &size,
			      NULL) ||
	    !gbe_json_parse_object(bytes, size, GBE_STATUS_FILE, &whole, NULL))
		return NULL;
	etcd = gbe_json_object(whole, "status");
	etcd = etcd != NULL ? gbe_json_object(etcd, "etcd") : NULL;
	if (etcd == NULL || !json_object_has_member(etcd, "healthy") ||
	    json_object_get_null_member(etcd, "healthy"))
		return NULL;
	healthy = gbe_json_bool(etcd, "healthy", false);
	seconds = MAX(look->facts->now - (gint64)st.st_mtime, 0);
	age = gbe_duration_to_text((guint64)seconds);
	look->was_healthy = healthy && (guint64)seconds <= 2 * app->config->health.monitor;
	return g_strdup_printf("%s %s ago", healthy ? "healthy" : "not healthy", age);
}

void
gbe_health_look_briefly(GbeHealthLook *look)
{
	GbeHealthReport *report;
	g_autofree char *last = NULL;

	look->facts->brief = true;
	gbe_health_look_now(look, BRIEF_MS);
	report = look->report;
	if (!report->late)
		return;
	last = read_last_answer(look);
	g_free(report->reason);
	report->reason = g_strdup_printf("no answer within %d ms%s%s", BRIEF_MS,
					 last != NULL ? "; it was " : "", last != NULL ? last : "");
}
