/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/health/look.h"

#include <string.h>

#include "app/health/place.h"
#include "app/health/verdict.h"
#include "core/decide/situation.h"
#include "etcd/api/client.h"
#include "etcd/tls/pem.h"

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

void
gbe_health_look_now(GbeHealthLook *look, guint timeout_ms)
{
	const GbeEndpoint *endpoint = &look->at.endpoint;
	GbeHealthFacts *facts = look->facts;
	gint64 deadline = g_get_monotonic_time() + (gint64)timeout_ms * 1000;

	gbe_health_facts_reset(facts);
	facts->now = g_get_real_time() / G_USEC_PER_SEC;
	gbe_health_place_service(look->app, facts);
	gbe_health_place_data(look->app, facts);
	if (g_ascii_strncasecmp(endpoint->endpoint != NULL ? endpoint->endpoint : "", "https://",
				strlen("https://")) == 0)
		gbe_certificates_look(endpoint->cacert, endpoint->cert, endpoint->key, facts->tls);
	if (gbe_health_needs_asking(facts))
		gbe_health_inquire(endpoint, deadline, &look->client, facts);
	gbe_health_place_open(look->app, facts);
	gbe_health_report_free(look->report);
	look->report = gbe_health_judge(facts);
}
