/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The backups as `list` has them. */
#include "app/status.h"
#include "core/members.h"
#include "core/record.h"
#include "fs/extents.h"

static void
set_u64(JsonObject *object, const char *key, guint64 value)
{
	json_object_set_int_member(object, key, (gint64)MIN(value, (guint64)G_MAXINT64));
}

JsonObject *
gbe_status_backup(const GbeObserved *observed, const GbeManifest *m, gint64 exclusive)
{
	JsonObject *object = json_object_new();
	const GbeDeployments *deployments = observed->deployments;

	json_object_set_int_member(object, "schema", GBE_SCHEMA);
	gbe_json_set_string(object, "name", m->name);
	gbe_json_set_string(object, "deployment", m->deployment.id);
	gbe_json_set_string(object, "run", m->run);
	set_u64(object, "sequence", m->sequence);
	gbe_json_set_string(object, "grade", gbe_grade_to_string(m->grade));
	gbe_json_set_string(object, "verdict", gbe_verdict_to_public(m->verdict));
	gbe_json_set_string(object, "health", gbe_health_to_string(m->health));
	gbe_json_set_known(object, "created", m->created > 0 ? m->created : -1);
	gbe_json_set_string(object, "etcd_version", m->etcd_version);
	gbe_json_set_known(object, "revision", m->revision);
	gbe_json_set_string(object, "cluster_id", m->cluster_id);
	gbe_json_set_string(object, "member_id", m->member_id);
	set_u64(object, "size", m->size);
	gbe_json_set_known(object, "exclusive", exclusive);
	gbe_json_set_string(object, "method", gbe_method_to_string(m->method));
	json_object_set_boolean_member(object, "pinned", m->pinned);
	json_object_set_boolean_member(object, "set_aside", m->set_aside);
	json_object_set_boolean_member(object, "consumed", m->consumed);
	/* Whose deployment is not known, or where the list is not, there is no word for it. */
	gbe_json_set_string(object, "present",
			    m->deployment.id != NULL && deployments->listed != NULL
				? gbe_deployments_presence(deployments, &m->deployment)
				: NULL);
	gbe_json_set_string(object, "description", m->description);
	gbe_json_set_string(object, "origin", gbe_origin_to_string(m->origin));
	return object;
}

static gint64
exclusive_bytes(const GbeObserved *observed, const GbeManifest *m)
{
	gbe_autofd int fd = -1;
	GbeExtents extents = {0};

	if (m->consumed || !gbe_store_open_data(observed->store, m->name, &fd, NULL) ||
	    !gbe_extents_of_tree(fd, TRUE, &extents, NULL))
		return -1;
	return (gint64)extents.exclusive;
}

static gint
newest_first(gconstpointer a, gconstpointer b)
{
	const GbeManifest *x = *(const GbeManifest *const *)a, *y = *(const GbeManifest *const *)b;

	if (x->sequence != y->sequence)
		return x->sequence > y->sequence ? -1 : 1;
	return g_strcmp0(x->name, y->name);
}

JsonArray *
gbe_status_list(const GbeObserved *observed, gboolean exclusive)
{
	g_autoptr(GPtrArray) sorted = g_ptr_array_new();
	JsonArray *list = json_array_new();

	for (guint i = 0; i < observed->facts->backups->len; i++)
		g_ptr_array_add(sorted, observed->facts->backups->pdata[i]);
	g_ptr_array_sort(sorted, newest_first);
	for (guint i = 0; i < sorted->len; i++) {
		const GbeManifest *m = sorted->pdata[i];

		json_array_add_object_element(
		    list,
		    gbe_status_backup(observed, m, exclusive ? exclusive_bytes(observed, m) : -1));
	}
	return list;
}
