/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/offsite.h"

#include "app/state/history.h"
#include "core/json/members.h"
#include "core/json/parse.h"
#include "core/space.h"

/* A push that came through says nothing of those that wait: the newest of them that failed counts then. */
static void
take_failed(GbeApp *app, GbeOffsite *offsite)
{
	g_autoptr(GPtrArray) all = gbe_history_waiting(app);

	for (guint i = all->len; i > 0 && offsite->failed_why == NULL; i--) {
		const GbeWaiting *waiting = all->pdata[i - 1];

		if (waiting->failed == NULL)
			continue;
		offsite->failed_why = g_strdup(waiting->failed);
		offsite->failed_at = waiting->failed_at;
	}
}

bool
gbe_offsite_load(GbeApp *app, GbeOffsite *ret_offsite)
{
	g_autofree char *store = gbe_history_configured(app);

	if (store == NULL || app->state_fd < 0)
		return false;
	gbe_history_read(app, store, ret_offsite);
	take_failed(app, ret_offsite);
	return true;
}

static char *
how_long(gint64 since, gint64 now)
{
	return now >= since ? gbe_duration_to_text((guint64)(now - since))
			    : g_strdup("a time that is not known (the clock was ahead then)");
}

/* An older push may be proved again and again, while nothing newer gets off the device. */
static char *
waits_too_long(GbeApp *app, const GbeOffsite *offsite, gint64 now)
{
	g_autoptr(GPtrArray) waiting = gbe_history_waiting(app);
	guint64 warn = app->config->store.prove_warn;
	g_autofree char *age = NULL;

	if (waiting->len == 0 || !gbe_offsite_is_too_old(offsite->pushed_at, warn, now))
		return NULL;
	age = how_long(offsite->pushed_at, now);
	return g_strdup_printf("no snapshot got off the device for %s%s%s; `greenboot-etcd store "
			       "send` tries again",
			       age, offsite->failed_why != NULL ? ": " : "",
			       offsite->failed_why != NULL ? offsite->failed_why : "");
}

/* Proofs are expected where they are made by themselves: from the first push on. */
char *
gbe_offsite_trouble(GbeApp *app)
{
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	g_auto(GbeOffsite) offsite = {0};
	g_autofree char *age = NULL;
	char *waits;

	if (!gbe_offsite_load(app, &offsite))
		return NULL;
	if (offsite.damaged != NULL)
		return g_strdup_printf("snapshot %s off the device is damaged: %s; `greenboot-etcd "
				       "store push` makes a new one",
				       offsite.damaged, offsite.damaged_why);
	waits = waits_too_long(app, &offsite, now);
	if (waits != NULL)
		return waits;
	if ((app->config->store.schedule == NULL && app->config->store.url == NULL) ||
	    app->config->store.prove == NULL ||
	    !gbe_offsite_is_overdue(&offsite, app->config->store.prove_warn, now))
		return NULL;
	age = how_long(gbe_offsite_since(&offsite), now);
	return g_strdup_printf("no snapshot off the device was proved for %s%s%s; `greenboot-etcd "
			       "store verify` does it",
			       age, offsite.failed_why != NULL ? ": " : "",
			       offsite.failed_why != NULL ? offsite.failed_why : "");
}

JsonNode *
gbe_offsite_status(GbeApp *app)
{
	gint64 now = g_get_real_time() / G_USEC_PER_SEC;
	JsonNode *node = json_node_new(JSON_NODE_NULL);
	g_autofree char *store = gbe_history_configured(app);
	g_autoptr(GPtrArray) waiting = gbe_history_waiting(app);
	g_autofree char *trouble = NULL;
	g_auto(GbeOffsite) offsite = {0};
	JsonObject *object;

	if (!gbe_offsite_load(app, &offsite))
		return node;
	trouble = gbe_offsite_trouble(app);
	object = json_object_new();
	gbe_json_set_string(object, "store", store);
	gbe_json_set_string(object, "proved", offsite.proved);
	gbe_json_set_known(object, "proved_at", offsite.proved_at);
	gbe_json_set_known(
	    object, "proved_age",
	    offsite.proved_at >= 0 && now >= offsite.proved_at ? now - offsite.proved_at : -1);
	gbe_json_set_known(object, "proved_revision", offsite.proved_revision);
	json_object_set_int_member(object, "waiting", waiting->len);
	gbe_json_set_string(
	    object, "waiting_newest",
	    waiting->len > 0 ? ((const GbeWaiting *)waiting->pdata[waiting->len - 1])->name : NULL);
	gbe_json_set_known(object, "failed_at", offsite.failed_at);
	gbe_json_set_string(object, "failed", offsite.failed_why);
	gbe_json_set_string(object, "pushed", offsite.pushed);
	gbe_json_set_known(object, "pushed_at", offsite.pushed_at);
	gbe_json_set_known(object, "pushed_revision", offsite.pushed_revision);
	gbe_json_set_known(object, "looked_at", offsite.looked_at);
	gbe_json_set_known(object, "size", offsite.size);
	gbe_json_set_known(object, "sent", offsite.sent);
	gbe_json_set_known(object, "requests", offsite.requests);
	gbe_json_set_known(object, "duration_ms", offsite.usec >= 0 ? offsite.usec / 1000 : -1);
	gbe_json_set_string(object, "damaged", offsite.damaged);
	json_object_set_boolean_member(object, "trouble", trouble != NULL);
	json_node_init_object(node, object);
	json_object_unref(object);
	return node;
}
