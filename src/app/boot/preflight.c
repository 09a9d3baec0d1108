/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/boot/boot.h"

#include "app/backup/backup.h"
#include "app/report/status.h"
#include "app/state/configuration.h"
#include "base/error.h"
#include "core/config/systems.h"
#include "core/json/parse.h"
#include "core/space.h"
#include "fs/copy/clone.h"
#include "fs/list.h"
#include "fs/open.h"
#include "sys/systemd/events.h"

#include <fcntl.h>

/* Tries the place with an empty directory, which it removes again. True: a backup can be kept in the store. */
static bool
check_file_system(GbeApp *app, const GbeObserved *observed, GPtrArray *to)
{
	const GbeStore *store = observed->store;
	g_autofree char *inside = g_strconcat(store->path, "/backup", NULL);
	g_autoptr(GError) error = NULL;

	if (store->fd < 0)
		return true;
	/* A store in another place than the configured one was looked at when it was opened (store.c). */
	if (!gbe_clone_probe(observed->data->fd, store->fd, &error))
		gbe_notice_check(to, "store", GBE_LEVEL_BAD,
				 "no backup of %s can be kept in %s: %s", observed->data->path,
				 store->path, error->message);
	else if (app->config->backup.directory != NULL &&
		 !gbe_check_parents(app->root_fd, inside, &error))
		gbe_notice_check(to, "store", GBE_LEVEL_BAD, "%s", error->message);
	return error == NULL;
}

static void
check_space(const GbeObserved *observed, GPtrArray *to)
{
	bool clones = observed->facts->clones == GBE_YES;
	const char *path = observed->store->path;
	GbeSpace space = {0};
	g_autoptr(GError) error = NULL;
	g_autofree char *write = NULL, *free_text = NULL, *missing = NULL;

	if (!gbe_backup_measure(observed, &space, &error)) {
		gbe_notice_check(to, "space", GBE_LEVEL_UNKNOWN, "%s", error->message);
		return;
	}
	write = gbe_size_to_text(space.would_write);
	free_text = gbe_size_to_text(space.available);
	missing = gbe_size_to_text(gbe_space_missing(&space));
	if (space.would_make > space.inodes)
		gbe_notice_check(to, "space", GBE_LEVEL_BAD,
				 "no room for the next upgrade's backup in %s: %" G_GUINT64_FORMAT
				 " more files can be made there, and it takes %" G_GUINT64_FORMAT,
				 path, space.inodes, space.would_make);
	else if (gbe_space_missing(&space) > 0)
		gbe_notice_check(to, "space", GBE_LEVEL_BAD,
				 "no room for the next upgrade's backup in %s: %s to write, %s "
				 "free, %s more are needed",
				 path, write, free_text, missing);
	else if (clones)
		gbe_notice_check(to, "space", GBE_LEVEL_OK,
				 "backups are clones here and cost next to nothing; %s free",
				 free_text);
	else
		gbe_notice_check(to, "space", GBE_LEVEL_OK,
				 "backups are copies here (no clones from %s to %s): %s to write, "
				 "%s free",
				 observed->data->path, path, write, free_text);
}

#define BACKUPS "/var/lib/microshift-backups"
#define MARKER BACKUPS "/restore"

static bool
exists(const GbeApp *app, const char *path)
{
	gbe_autofd int fd = -1;

	return gbe_open_in_root(app->root_fd, path, O_PATH | O_NOFOLLOW, &fd, NULL);
}

/* Checks MicroShift's own backups, hook and marker. */
static void
check_microshift(const GbeApp *app, GPtrArray *to)
{
	static const char *const hooks[] = {
	    "/etc/greenboot/red.d/40_microshift_pre_rollback.sh",
	    "/usr/lib/greenboot/red.d/40_microshift_pre_rollback.sh",
	};
	g_autoptr(GPtrArray) names = NULL;
	gbe_autofd int fd = -1;
	guint count = 0;

	if (g_strcmp0(app->config->etcd.service, GBE_MICROSHIFT_SERVICE) != 0)
		return;
	if (gbe_open_in_root(app->root_fd, BACKUPS, O_RDONLY | O_DIRECTORY, &fd, NULL) &&
	    gbe_list_at(fd, BACKUPS, &names, NULL)) {
		for (guint i = 0; i < names->len; i++) {
			gbe_autofd int backup = -1;

			count += gbe_open_dir_at(fd, names->pdata[i], &backup, NULL);
		}
		gbe_notice_check(to, "microshift", GBE_LEVEL_NOTE,
				 "MicroShift's own pre-run keeps backups in " BACKUPS
				 " (%u now); without room for one more it does not start",
				 count);
	}
	for (gsize i = 0; i < G_N_ELEMENTS(hooks); i++)
		if (exists(app, hooks[i]))
			gbe_notice_check(to, "microshift", GBE_LEVEL_NOTE,
					 "%s leaves the marker " MARKER
					 " when boot_counter is 0: docs/microshift.md says whether "
					 "to remove the hook",
					 hooks[i]);
	if (exists(app, MARKER))
		gbe_notice_check(to, "microshift", GBE_LEVEL_NOTE,
				 "the marker " MARKER
				 " is there: if the next deployment keeps another one's data, "
				 "MicroShift restores its own backup; remove the marker");
}

static bool
check_configuration(GbeApp *app, GPtrArray *notices)
{
	g_autoptr(GPtrArray) faults = gbe_configuration_check(app, false);

	if (faults->len == 0) {
		gbe_notice_check(notices, "configuration", GBE_LEVEL_OK, "no errors");
		return true;
	}
	GBE_EACH(const char *, fault, faults)
		gbe_notice_check(notices, "configuration", GBE_LEVEL_BAD, "%s", fault);
	return gbe_configuration_load(app, NULL);
}

GPtrArray *
gbe_preflight_check(GbeApp *app, const GbeHealthLook *look)
{
	g_autoptr(GPtrArray) notices = gbe_notices_new();
	GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GError) error = NULL;
	const GbeKeys *keys = NULL;
	bool has_place;

	if (!check_configuration(app, notices))
		return g_steal_pointer(&notices);
	if (app->state_fd < 0 && !gbe_app_open_state(app, false, &error) &&
	    !g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		gbe_notice_check(notices, "state", GBE_LEVEL_UNKNOWN, "%s", error->message);
		return g_steal_pointer(&notices);
	}
	g_clear_error(&error);
	if (!gbe_observe(app, &options, &observed, &error)) {
		gbe_notice_check(notices, "data",
				 g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE)
				     ? GBE_LEVEL_BAD
				     : GBE_LEVEL_UNKNOWN,
				 "%s", error->message);
		return g_steal_pointer(&notices);
	}
	if (gbe_notices_for_preflight(app, observed, look, notices, &has_place)) {
		if (has_place && check_file_system(app, observed, notices))
			check_space(observed, notices);
		if (!gbe_app_keys(app, &keys, &error))
			gbe_notice_check(notices, "key", GBE_LEVEL_BAD, "%s", error->message);
	}
	check_microshift(app, notices);
	for (guint i = notices->len; i > 0; i--)
		if (!gbe_notice_is_in(notices->pdata[i - 1], GBE_IN_PREFLIGHT))
			g_ptr_array_remove_index(notices, i - 1);
	return g_steal_pointer(&notices);
}

int
gbe_preflight_status(const GPtrArray *notices)
{
	int status = 0;

	for (guint i = 0; i < notices->len; i++) {
		const GbeNotice *notice = notices->pdata[i];

		if (notice->level == GBE_LEVEL_BAD)
			return GBE_EXIT_REFUSED;
		if (notice->level == GBE_LEVEL_UNKNOWN)
			status = GBE_EXIT_CANNOT_TELL;
	}
	return status;
}

int
gbe_preflight_run(GbeApp *app)
{
	g_autoptr(GPtrArray) notices = gbe_preflight_check(app, NULL);
	GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(JsonObject) object = json_object_new();
	JsonArray *problems = json_array_new();
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;

	for (guint i = 0; i < notices->len; i++) {
		const GbeNotice *notice = notices->pdata[i];
		GbeEventFields fields = {.action = notice->check, .reason = notice->line};

		if (notice->level == GBE_LEVEL_BAD)
			gbe_event_preflight(&fields);
		else
			gbe_note("%s: %s", notice->check, notice->line);
		/* A failed rehearsal has its own line. */
		if (notice->level == GBE_LEVEL_BAD && notice->kind != GBE_NOTICE_REHEARSAL)
			json_array_add_string_element(problems, notice->line);
	}
	json_object_set_array_member(object, "problems", problems);
	/* For the MOTD, which status writes. */
	text = gbe_json_print_object(object);
	if (!gbe_status_write_file(app, GBE_PREFLIGHT_FILE, text, &error))
		gbe_note("%s", error->message);
	if (gbe_observe(app, &options, &observed, NULL))
		gbe_status_write(app, observed, NULL, NULL);
	return gbe_preflight_status(notices);
}
