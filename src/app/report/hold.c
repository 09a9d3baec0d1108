/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/status.h"
#include "core/decide/retention.h"
#include "core/decide/situation.h"
#include "core/unit-name.h"
#include "fs/open.h"

#include <string.h>

/* The command that ends the process with the data, newly allocated; NULL: unknown. */
static char *
end_holder(const GbeObserved *observed)
{
	const char *service = observed->facts->config->etcd.service;
	g_autofree char *unit = NULL;
	pid_t pid;

	if (observed->facts->data_open != GBE_YES)
		return NULL;
	unit = gbe_data_holder_unit(observed->data);
	if (unit != NULL && g_str_has_suffix(unit, ".service") && gbe_unit_is_parent(unit) &&
	    g_strcmp0(unit, service) != 0)
		return g_strdup_printf("systemctl stop %s", unit);
	pid = gbe_data_holder_pid(observed->data);
	return pid > 0 ? g_strdup_printf("kill %d", (int)pid) : NULL;
}

/* As one word of a shell: a name with a blank is escaped by a backslash. */
static char *
mount_unit(const char *path)
{
	g_autofree char *unit = gbe_mount_unit(path);

	return strchr(unit, '\\') != NULL ? g_shell_quote(unit) : g_steal_pointer(&unit);
}

/* The target of the data directory, or the directory that has the data; quoted for a shell, NULL: unknown. */
static char *
other_directory(const GbeApp *app, const GbeFacts *facts)
{
	g_autofree char *below = NULL, *target = NULL, *above = NULL, *whole = NULL;

	if (facts->left_at != NULL)
		return g_shell_quote(facts->left_at);
	if (!facts->linked)
		return NULL;
	below = g_build_filename(app->root_path, app->config->etcd.data_dir, NULL);
	target = g_file_read_link(below, NULL);
	if (target == NULL)
		return NULL;
	above = g_path_get_dirname(app->config->etcd.data_dir);
	whole = g_canonicalize_filename(target, above);
	return g_shell_quote(whole);
}

GPtrArray *
gbe_hold_way(const GbeApp *app, const GbeObserved *observed, GbeHold hold)
{
	const GbeFacts *facts = observed->facts;
	const GbeManifest *backup = gbe_situation_restorable(facts);
	bool last = false;
	const GbeManifest *spare = gbe_retention_least(facts, &last);
	g_autofree char *end = hold == GBE_HOLD_OPEN ? end_holder(observed) : NULL;
	g_autofree char *mount = mount_unit(app->config->etcd.data_dir);
	g_autofree char *old = other_directory(app, facts);
	g_autofree char *store = facts->store == GBE_NO ? mount_unit(observed->store->path) : NULL;
	const char *owner = facts->owner != NULL ? facts->owner->deployment.id : NULL;
	GbeHoldFacts known = {.service = app->config->etcd.service,
			      .mount = mount,
			      .end = end,
			      .old = old,
			      .command = facts->leaving,
			      .backup = backup != NULL ? backup->name : NULL,
			      .spare = spare != NULL && !last ? spare->name : NULL,
			      .store = store};

	if (owner != NULL && gbe_facts_listed(facts, owner) != NULL) {
		if (g_strcmp0(facts->next, owner) == 0)
			known.reboot = "systemctl reboot";
		else if (gbe_is_in_root(app->root_fd, "/usr/bin/rpm-ostree") == GBE_YES)
			known.newer = "rpm-ostree rollback";
		else if (gbe_is_in_root(app->root_fd, "/usr/bin/bootc") == GBE_YES)
			known.newer = "bootc rollback";
	}
	return gbe_hold_steps(hold, &known);
}
