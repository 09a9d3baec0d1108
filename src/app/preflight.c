/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/preflight.h"

#include "app/configuration.h"
#include "app/status.h"
#include "app/use-cases.h"
#include "core/record.h"
#include "core/retention.h"
#include "core/situation.h"
#include "core/space.h"
#include "fs/extents.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/tree.h"
#include "fs/write.h"
#include "sys/events.h"

#include <fcntl.h>
#include <string.h>

#define PROBE_MS 5000

void
gbe_finding_free(GbeFinding *finding)
{
	if (finding == NULL)
		return;
	g_free(finding->text);
	g_free(finding);
}

const char *
gbe_finding_level_to_string(GbeFindingLevel level)
{
	static const char *const words[] = {
	    [GBE_FINDING_OK] = "ok",
	    [GBE_FINDING_NOTE] = "note",
	    [GBE_FINDING_UNKNOWN] = "unknown",
	    [GBE_FINDING_BAD] = "bad",
	};

	return words[level];
}

static void add(GPtrArray *findings, const char *check, GbeFindingLevel level, const char *format,
		...) G_GNUC_PRINTF(4, 5);

static void
add(GPtrArray *findings, const char *check, GbeFindingLevel level, const char *format, ...)
{
	GbeFinding *finding = g_new0(GbeFinding, 1);
	va_list args;

	finding->check = check;
	finding->level = level;
	va_start(args, format);
	finding->text = g_strdup_vprintf(format, args);
	va_end(args);
	g_ptr_array_add(findings, finding);
}

static void
check_system(const GbeObserved *observed, GPtrArray *findings)
{
	const GbeFacts *facts = observed->facts;

	if (facts->ostree != GBE_YES)
		add(findings, "system", GBE_FINDING_BAD,
		    "not an ostree system (a composefs-native bootc one is none either): no "
		    "deployments, so nothing is backed up or restored with them");
	else if (facts->booted.id == NULL)
		add(findings, "system", GBE_FINDING_BAD, "the booted deployment cannot be told: %s",
		    facts->booted_why != NULL ? facts->booted_why : "unknown");
	else if (facts->listed == NULL)
		add(findings, "system", GBE_FINDING_UNKNOWN,
		    "ostree's deployments cannot be listed: %s",
		    observed->deployments->list_why != NULL ? observed->deployments->list_why
							    : "unknown");
	else
		add(findings, "system", GBE_FINDING_OK, "%s is booted, %u deployments",
		    facts->booted.id, facts->listed->len);
	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (!listed->staged)
			continue;
		add(findings, "staged", GBE_FINDING_NOTE, "%s is staged%s", listed->ref.id,
		    listed->locked ? " and locked: a reboot does not take it" : "");
		if (listed->has_program == GBE_NO)
			add(findings, "staged", GBE_FINDING_BAD,
			    "%s does not carry greenboot-etcd: nobody there tells a failed update "
			    "from a good one",
			    listed->ref.id);
	}
}

static void
check_greenboot(const GbeObserved *observed, GPtrArray *findings)
{
	const GbeGreenboot *greenboot = observed->greenboot;

	if (greenboot->flavour == GBE_GREENBOOT_NONE)
		add(findings, "greenboot", GBE_FINDING_BAD,
		    "greenboot is not installed: nobody judges boots here, and no failed update "
		    "is rolled back");
	else if (greenboot->enabled == GBE_NO)
		add(findings, "greenboot", GBE_FINDING_BAD,
		    "greenboot is not enabled (%s): `systemctl enable greenboot-healthcheck`",
		    greenboot->enabled_why != NULL ? greenboot->enabled_why : "unknown");
	else if (greenboot->enabled == GBE_UNKNOWN)
		add(findings, "greenboot", GBE_FINDING_UNKNOWN,
		    "whether greenboot is enabled cannot be told");
	else if (greenboot->can_count == GBE_NO)
		add(findings, "greenboot", GBE_FINDING_BAD,
		    "greenboot cannot count boots: GRUB cannot write its environment block "
		    "(/boot/grub2/grubenv missing, or /boot on btrfs)");
	else if (greenboot->can_count == GBE_UNKNOWN)
		add(findings, "greenboot", GBE_FINDING_UNKNOWN,
		    "whether greenboot can count boots cannot be told");
	else
		add(findings, "greenboot", GBE_FINDING_OK, "%s flavour, enabled, can count",
		    gbe_greenboot_flavour_to_string(greenboot->flavour));
}

/* True: there is data that a backup could be made of. */
static gboolean
check_data(const GbeObserved *observed, GPtrArray *findings)
{
	const GbeFacts *facts = observed->facts;
	g_auto(GbeTreeInfo) info = {0};
	g_autoptr(GError) error = NULL;
	g_autofree char *size = NULL;

	if (facts->data == GBE_NO) {
		add(findings, "data", GBE_FINDING_NOTE,
		    "no etcd data in %s: there is nothing to back up", observed->data->path);
		return FALSE;
	}
	if (facts->data == GBE_UNKNOWN) {
		add(findings, "data", GBE_FINDING_UNKNOWN, "the data in %s cannot be read: %s",
		    observed->data->path, facts->data_why != NULL ? facts->data_why : "unknown");
		return FALSE;
	}
	if (!gbe_tree_scan(observed->data->fd, gbe_data_exclude, &info, &error)) {
		add(findings, "data", GBE_FINDING_BAD, "%s cannot be backed up: %s",
		    observed->data->path, error->message);
		return FALSE;
	}
	size = gbe_size_to_text(info.bytes);
	add(findings, "data", GBE_FINDING_OK, "%s: %s in %" G_GUINT64_FORMAT " files",
	    observed->data->path, size, info.files);
	if (info.left_out != NULL && info.left_out->len > 0)
		add(findings, "data", GBE_FINDING_NOTE, "%u sockets carry no data and are left out",
		    info.left_out->len);
	if (facts->stamp_why != NULL)
		add(findings, "data", GBE_FINDING_NOTE, "the stamp cannot be read: %s",
		    facts->stamp_why);
	return TRUE;
}

static gboolean
check_store(GbeApp *app, const GbeObserved *observed, GPtrArray *findings)
{
	const GbeFacts *facts = observed->facts;

	if (facts->store == GBE_NO) {
		add(findings, "store", GBE_FINDING_BAD,
		    "the store of backups %s is not there: mount it", observed->store->path);
		return FALSE;
	}
	if (observed->store->fd >= 0 && gbe_filesystem_read_only(observed->store->fd)) {
		add(findings, "store", GBE_FINDING_BAD, "the store of backups %s is read-only",
		    observed->store->path);
		return FALSE;
	}
	for (guint i = 0; observed->damaged != NULL && i < observed->damaged->len; i++)
		add(findings, "store", GBE_FINDING_NOTE, "the manifest of backup %s cannot be read",
		    (const char *)observed->damaged->pdata[i]);
	add(findings, "store", GBE_FINDING_OK, "%s: %u backups", observed->store->path,
	    facts->backups->len);
	return TRUE;
}

/* What removing the backups that retention drops would free: counted where nobody shares it. */
static guint64
reclaimable(const GbeObserved *observed)
{
	g_autoptr(GArray) removals = gbe_retention_apply(observed->facts);
	guint64 bytes = 0;

	for (guint i = 0; i < removals->len; i++) {
		const GbeRemoval *removal = &g_array_index(removals, GbeRemoval, i);
		gbe_autofd int fd = -1;
		GbeExtents extents = {0};

		if (gbe_store_open_data(observed->store, removal->backup->name, &fd, NULL) &&
		    gbe_extents_of_tree(fd, TRUE, &extents, NULL))
			bytes += extents.exclusive;
	}
	return bytes;
}

static void
check_space(GbeApp *app, const GbeObserved *observed, GPtrArray *findings)
{
	const GbeFacts *facts = observed->facts;
	int fd = observed->store->fd >= 0 ? observed->store->fd : observed->data->parent_fd;
	GbeExtents extents = {0};
	GbeSpace space = {0};
	guint64 total, inodes;
	g_autoptr(GError) error = NULL;
	g_autofree char *write = NULL, *free_text = NULL, *missing = NULL;

	if (!gbe_filesystem_space(fd, &space.available, &total, &inodes, &error) ||
	    !gbe_extents_of_tree(observed->data->fd, FALSE, &extents, &error)) {
		add(findings, "space", GBE_FINDING_UNKNOWN, "%s", error->message);
		return;
	}
	if (facts->clones != GBE_YES)
		space.would_write = extents.data;
	if (!gbe_space_fits(&space))
		space.reclaimable = reclaimable(observed);
	write = gbe_size_to_text(space.would_write);
	free_text = gbe_size_to_text(space.available);
	missing = gbe_size_to_text(gbe_space_missing(&space));
	if (!gbe_space_fits_after_prune(&space))
		add(findings, "space", GBE_FINDING_BAD,
		    "no room for the next upgrade's backup in %s: %s to write, %s free, %s more "
		    "are needed",
		    observed->store->path, write, free_text, missing);
	else if (facts->clones == GBE_YES)
		add(findings, "space", GBE_FINDING_OK,
		    "backups are clones here and cost next to nothing; %s free", free_text);
	else
		add(findings, "space", GBE_FINDING_OK,
		    "backups are copies here (no clones from %s to %s): %s to write, %s free",
		    observed->data->path, observed->store->path, write, free_text);
}

static void
check_etcd(GbeApp *app, GPtrArray *findings)
{
	GbeProbe probe = {0};

	if (app->config->etcd.service == NULL || *app->config->etcd.service == '\0') {
		add(findings, "etcd", GBE_FINDING_NOTE,
		    "[etcd] service is empty: greenboot-etcd is off");
		return;
	}
	gbe_status_probe(app, PROBE_MS, &probe);
	if (probe.health == GBE_HEALTH_HEALTHY)
		add(findings, "etcd", GBE_FINDING_OK, "healthy%s%s",
		    probe.version != NULL ? ", version " : "",
		    probe.version != NULL ? probe.version : "");
	else if (probe.health == GBE_HEALTH_UNHEALTHY)
		add(findings, "etcd", GBE_FINDING_BAD,
		    "etcd is not healthy now (%s): mend it before an update is judged by it",
		    probe.reason);
	else
		add(findings, "etcd", GBE_FINDING_UNKNOWN, "etcd's health cannot be told: %s",
		    probe.reason);
	gbe_probe_clear(&probe);
}

static gboolean
check_configuration(GbeApp *app, GPtrArray *findings)
{
	g_autoptr(GError) error = NULL;

	if (gbe_configuration_load(app, TRUE, &error)) {
		add(findings, "configuration", GBE_FINDING_OK, "no errors");
		return TRUE;
	}
	add(findings, "configuration", GBE_FINDING_BAD, "%s", error->message);
	g_clear_error(&error);
	return gbe_configuration_load(app, FALSE, &error);
}

GPtrArray *
gbe_preflight_check(GbeApp *app)
{
	GPtrArray *findings = g_ptr_array_new_with_free_func((GDestroyNotify)gbe_finding_free);
	GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;
	g_autoptr(GError) error = NULL;

	if (!check_configuration(app, findings))
		return findings;
	if (app->state_fd < 0 && !gbe_app_open_state(app, FALSE, &error) &&
	    !g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND)) {
		add(findings, "state", GBE_FINDING_UNKNOWN, "%s", error->message);
		return findings;
	}
	g_clear_error(&error);
	if (!gbe_observe(app, &options, &observed, &error)) {
		add(findings, "data",
		    g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE)
			? GBE_FINDING_BAD
			: GBE_FINDING_UNKNOWN,
		    "%s", error->message);
		return findings;
	}
	check_system(observed, findings);
	check_greenboot(observed, findings);
	if (check_data(observed, findings)) {
		if (check_store(app, observed, findings))
			check_space(app, observed, findings);
		check_etcd(app, findings);
	}
	return findings;
}

int
gbe_preflight_status(const GPtrArray *findings)
{
	int status = 0;

	for (guint i = 0; i < findings->len; i++) {
		const GbeFinding *finding = findings->pdata[i];

		if (finding->level == GBE_FINDING_BAD)
			return 5;
		if (finding->level == GBE_FINDING_UNKNOWN)
			status = 7;
	}
	return status;
}

/* For the MOTD, which status writes. */
static void
leave_problems(GbeApp *app, const GPtrArray *findings)
{
	g_autoptr(JsonObject) object = json_object_new();
	JsonArray *problems = json_array_new();
	g_autofree char *name = g_path_get_basename(GBE_PREFLIGHT_FILE);
	g_autofree char *text = NULL;
	g_autoptr(GError) error = NULL;
	gbe_autofd int run_fd = -1;

	for (guint i = 0; i < findings->len; i++) {
		const GbeFinding *finding = findings->pdata[i];

		if (finding->level == GBE_FINDING_BAD)
			json_array_add_string_element(problems, finding->text);
	}
	json_object_set_array_member(object, "problems", problems);
	text = gbe_json_print_object(object);
	if (!gbe_make_dirs(app->root_fd, GBE_RUN_DIR, 0755, &run_fd, &error) ||
	    !gbe_write_file_at(run_fd, name, text, strlen(text), 0644, GBE_WRITE_LATER, &error))
		gbe_note("%s", error->message);
}

static void
report(GbeApp *app, const GPtrArray *findings)
{
	GbeObserveOptions options = {0};
	g_autoptr(GbeObserved) observed = NULL;

	for (guint i = 0; i < findings->len; i++) {
		const GbeFinding *finding = findings->pdata[i];
		GbeEventFields fields = {.action = finding->check, .reason = finding->text};

		if (finding->level == GBE_FINDING_BAD)
			gbe_event_preflight(&fields);
		else
			gbe_note("%s: %s", finding->check, finding->text);
	}
	leave_problems(app, findings);
	if (gbe_observe(app, &options, &observed, NULL))
		gbe_status_write(app, observed);
}

int
gbe_preflight_run(GbeApp *app, GPtrArray **ret_findings)
{
	g_autoptr(GPtrArray) findings = gbe_preflight_check(app);

	if (ret_findings == NULL) {
		report(app, findings);
	} else {
		*ret_findings = g_ptr_array_new_with_free_func(g_free);
		for (guint i = 0; i < findings->len; i++) {
			const GbeFinding *finding = findings->pdata[i];

			g_ptr_array_add(*ret_findings,
					g_strdup_printf("%s: %s: %s",
							gbe_finding_level_to_string(finding->level),
							finding->check, finding->text));
		}
	}
	return gbe_preflight_status(findings);
}
