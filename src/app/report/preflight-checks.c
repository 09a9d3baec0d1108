/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/report/preflight-checks.h"

#include "app/backups/store.h"
#include "app/report/protection.h"
#include "app/report/records.h"
#include "app/report/status.h"
#include "base/format.h"
#include "core/config/systems.h"
#include "core/decide/retention.h"
#include "core/decide/situation.h"
#include "core/space.h"
#include "fs/copy/clone.h"
#include "fs/copy/extents.h"
#include "fs/exchange.h"
#include "fs/list.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "fs/tree.h"

#include <fcntl.h>

void
gbe_preflight_finding_free(GbePreflightFinding *finding)
{
	if (finding == NULL)
		return;
	g_free(finding->text);
	g_free(finding);
}

const char *
gbe_preflight_level_to_string(GbePreflightLevel level)
{
	static const char *const words[] = {
	    [GBE_PREFLIGHT_OK] = "ok",
	    [GBE_PREFLIGHT_NOTE] = "note",
	    [GBE_PREFLIGHT_UNKNOWN] = "unknown",
	    [GBE_PREFLIGHT_BAD] = "bad",
	};

	return words[level];
}

void
gbe_preflight_add(GPtrArray *findings, const char *check, GbePreflightLevel level,
		  const char *format, ...)
{
	GbePreflightFinding *finding = g_new0(GbePreflightFinding, 1);

	finding->check = check;
	finding->level = level;
	finding->text = GBE_VFORMAT(format);
	g_ptr_array_add(findings, finding);
}

void
gbe_preflight_check_system(const GbeObserved *observed, GPtrArray *findings)
{
	const GbeFacts *facts = observed->facts;
	g_autofree char *neighbour = NULL;
	const char *unlocked;

	if (facts->ostree != GBE_YES)
		gbe_preflight_add(
		    findings, "system", GBE_PREFLIGHT_BAD,
		    "this is no ostree system, and neither is a composefs-native bootc one: no "
		    "deployments, so nothing is backed up or restored with them");
	else if (facts->booted.id == NULL)
		gbe_preflight_add(findings, "system", GBE_PREFLIGHT_BAD,
				  "cannot identify the booted deployment: %s",
				  facts->booted_why != NULL ? facts->booted_why : "unknown");
	else if (facts->listed == NULL)
		gbe_preflight_add(findings, "system", GBE_PREFLIGHT_UNKNOWN,
				  "ostree's deployments cannot be listed: %s",
				  observed->deployments->list_why != NULL
				      ? observed->deployments->list_why
				      : "unknown");
	else {
		g_autofree char *count = gbe_count_to_text(facts->listed->len, "deployment");

		gbe_preflight_add(findings, "system", GBE_PREFLIGHT_OK, "%s is booted, %s",
				  facts->booted.id, count);
	}
	unlocked = gbe_deployments_unlocked(observed->deployments);
	if (unlocked != NULL)
		gbe_preflight_add(findings, "system", GBE_PREFLIGHT_NOTE,
				  "the booted deployment is unlocked (%s): its id does not tell "
				  "what is changed; a higher etcd is noticed",
				  unlocked);
	neighbour = gbe_deployments_neighbour(observed->deployments);
	if (neighbour != NULL)
		gbe_preflight_add(findings, "system", GBE_PREFLIGHT_NOTE,
				  "the stateroot %s has a /var, and data of etcd, of its own",
				  neighbour);
	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (!listed->staged)
			continue;
		gbe_preflight_add(findings, "staged", GBE_PREFLIGHT_NOTE, "%s is staged%s",
				  listed->ref.id,
				  listed->locked ? " and locked: a reboot does not take it" : "");
		if (listed->has_program == GBE_NO)
			gbe_preflight_add(
			    findings, "staged", GBE_PREFLIGHT_BAD,
			    "%s does not carry greenboot-etcd: nobody there tells a failed update "
			    "from a good one",
			    listed->ref.id);
	}
}

/* Does the next boot bring an update that was never green, and does nothing count its boots? For a staged one greenboot
 * begins to count: the shell version once it is staged, the Rust version when it is finalized. */
static bool
is_uncounted_update(const GbeObserved *observed)
{
	const GbeFacts *facts = observed->facts;
	const GbeListed *next = facts->next != NULL ? gbe_facts_listed(facts, facts->next) : NULL;

	g_autofree char *here = NULL, *there = NULL;

	if (next == NULL || facts->booted.id == NULL ||
	    !gbe_deployment_id_parse(facts->booted.id, &here, NULL, NULL) ||
	    !gbe_deployment_id_parse(next->ref.id, &there, NULL, NULL))
		return false;
	/* Another stateroot is another system, with a /var of its own. */
	return g_str_equal(here, there) && !gbe_deployment_same(&next->ref, &facts->booted) &&
	       gbe_situation_trial_of(facts, &next->ref) == GBE_YES &&
	       observed->greenboot->counts == GBE_NO && !next->staged;
}

void
gbe_preflight_check_greenboot(const GbeObserved *observed, GPtrArray *findings)
{
	const GbeGreenboot *greenboot = observed->greenboot;

	if (greenboot->flavour == GBE_GREENBOOT_NONE && greenboot->enabled == GBE_NO)
		gbe_preflight_add(
		    findings, "greenboot", GBE_PREFLIGHT_BAD,
		    "greenboot is not installed: nobody judges boots here, and no failed update "
		    "is rolled back");
	else if (greenboot->enabled == GBE_NO)
		gbe_preflight_add(
		    findings, "greenboot", GBE_PREFLIGHT_BAD,
		    "greenboot is not enabled (%s): `systemctl enable greenboot-healthcheck`",
		    greenboot->enabled_why != NULL ? greenboot->enabled_why : "unknown");
	else if (greenboot->enabled == GBE_UNKNOWN)
		gbe_preflight_add(findings, "greenboot", GBE_PREFLIGHT_UNKNOWN,
				  "whether greenboot is enabled cannot be told");
	else if (greenboot->count_why != NULL)
		gbe_preflight_add(
		    findings, "greenboot", GBE_PREFLIGHT_BAD,
		    "boots are not counted, so that an update that fails is booted again and "
		    "again: %s (greenboot-etcd-guide(7))",
		    greenboot->count_why);
	else if (greenboot->can_count == GBE_UNKNOWN)
		gbe_preflight_add(findings, "greenboot", GBE_PREFLIGHT_UNKNOWN,
				  "whether greenboot can count boots cannot be told");
	else if (is_uncounted_update(observed))
		gbe_preflight_add(findings, "greenboot", GBE_PREFLIGHT_BAD,
				  "the next boot is an update and nothing counts it: a failure of "
				  "%s brings no other system back; stage it again",
				  observed->facts->next);
	else
		gbe_preflight_add(findings, "greenboot", GBE_PREFLIGHT_OK,
				  "%s flavour, enabled, can count",
				  gbe_greenboot_flavour_to_string(greenboot->flavour));
}

bool
gbe_preflight_check_data(const GbeObserved *observed, GPtrArray *findings)
{
	const GbeFacts *facts = observed->facts;
	g_auto(GbeTreeInfo) info = {0};
	g_autoptr(GError) error = NULL;
	g_autofree char *size = NULL;

	if (facts->data == GBE_NO) {
		gbe_preflight_add(findings, "data", GBE_PREFLIGHT_NOTE,
				  "no etcd data in %s: there is nothing to back up",
				  observed->data->path);
		return false;
	}
	if (facts->data == GBE_UNKNOWN) {
		gbe_preflight_add(findings, "data", GBE_PREFLIGHT_UNKNOWN,
				  "the data in %s cannot be read: %s", observed->data->path,
				  facts->data_why != NULL ? facts->data_why : "unknown");
		return false;
	}
	if (!gbe_data_check_whole(observed->data, &error) ||
	    !gbe_tree_scan(observed->data->fd, gbe_data_exclude, NULL, &info, &error)) {
		gbe_preflight_add(findings, "data", GBE_PREFLIGHT_BAD, "%s cannot be backed up: %s",
				  observed->data->path, error->message);
		return false;
	}
	size = gbe_size_to_text(info.bytes);
	gbe_preflight_add(findings, "data", GBE_PREFLIGHT_OK,
			  "%s: %s in %" G_GUINT64_FORMAT " files", observed->data->path, size,
			  info.files);
	if (info.left_out != NULL && info.left_out->len > 0)
		gbe_preflight_add(findings, "data", GBE_PREFLIGHT_NOTE,
				  "sockets carry no data and are left out: %u", info.left_out->len);
	if (facts->ledger == GBE_UNKNOWN)
		gbe_preflight_add(findings, "data", GBE_PREFLIGHT_NOTE,
				  "the ledger cannot be read: %s", facts->ledger_why);
	return true;
}

bool
gbe_preflight_check_store(const GbeObserved *observed, GPtrArray *findings)
{
	const GbeFacts *facts = observed->facts;
	g_autofree char *count = NULL;
	g_autoptr(GError) error = NULL;

	if (facts->store == GBE_NO) {
		gbe_preflight_add(findings, "store", GBE_PREFLIGHT_BAD, "%s%s%s",
				  observed->store_why != NULL ? observed->store_why
							      : "the store of backups ",
				  observed->store_why != NULL ? "" : observed->store->path,
				  observed->store_why != NULL ? "" : " is not there: mount it");
		return false;
	}
	if (observed->store->fd >= 0 && gbe_filesystem_read_only(observed->store->fd)) {
		gbe_preflight_add(findings, "store", GBE_PREFLIGHT_BAD,
				  "the store of backups %s is read-only", observed->store->path);
		return false;
	}
	if (observed->store->fd >= 0 && !gbe_is_writable(observed->store->fd, &error)) {
		gbe_preflight_add(findings, "store", GBE_PREFLIGHT_BAD,
				  "the store of backups %s: %s", observed->store->path,
				  error->message);
		return false;
	}
	for (guint i = 0; observed->damaged != NULL && i < observed->damaged->len; i++)
		if (gbe_status_is_damaged(observed, observed->damaged->pdata[i]))
			gbe_preflight_add(findings, "store", GBE_PREFLIGHT_NOTE,
					  "the manifest of backup %s cannot be read",
					  (const char *)observed->damaged->pdata[i]);
	count = gbe_count_to_text(facts->backups->len, "backup");
	gbe_preflight_add(findings, "store", GBE_PREFLIGHT_OK, "%s: %s", observed->store->path,
			  count);
	return true;
}

/* A store in another place than the configured one was looked at when it was opened (store.c). */
static bool
others_keep_out(GbeApp *app, const GbeStore *store, GError **error)
{
	g_autofree char *inside = g_strconcat(store->path, "/backup", NULL);

	return app->config->backup.directory == NULL ||
	       gbe_check_parents(app->root_fd, inside, error);
}

bool
gbe_preflight_check_file_system(GbeApp *app, const GbeObserved *observed, GPtrArray *findings)
{
	const GbeStore *store = observed->store;
	g_autoptr(GError) error = NULL;

	if (store->fd < 0)
		return true;
	if (!gbe_clone_probe(observed->data->fd, store->fd, &error))
		gbe_preflight_add(findings, "store", GBE_PREFLIGHT_BAD,
				  "no backup of %s can be kept in %s: %s", observed->data->path,
				  store->path, error->message);
	else if (!others_keep_out(app, store, &error))
		gbe_preflight_add(findings, "store", GBE_PREFLIGHT_BAD, "%s", error->message);
	return error == NULL;
}

void
gbe_preflight_check_exchange(const GbeObserved *observed, GPtrArray *findings)
{
	const GbeData *data = observed->data;
	gbe_autofd int member_fd = -1;
	int fd = data->fd;
	int above = data->parent_fd;

	if (observed->facts->data != GBE_YES)
		return;
	/* At a mount point the entries of the data directory change places. */
	if (data->mount_point) {
		above = data->fd;
		fd = member_fd =
		    openat(data->fd, *data->member_path != '\0' ? data->member_path : "member",
			   O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	}
	if (fd < 0 || above < 0)
		return;
	switch (gbe_probe_exchange(above, fd)) {
	case GBE_NO:
		gbe_preflight_add(findings, "exchange", GBE_PREFLIGHT_BAD,
				  "%s: its file system cannot exchange directories, so that no "
				  "backup can be restored there; on an overlay, mount it with "
				  "redirect_dir=on or move the data to another file system",
				  data->path);
		break;
	case GBE_UNKNOWN:
		gbe_preflight_add(findings, "exchange", GBE_PREFLIGHT_UNKNOWN,
				  "cannot determine whether a backup can be restored to %s: its "
				  "file system may be unable to exchange directories",
				  data->path);
		break;
	case GBE_YES:
	default:
		break;
	}
}

void
gbe_preflight_check_prerun(const GbeApp *app, const GbeHealthLook *look, GPtrArray *findings)
{
	GbeProtection off = {.state = GBE_PROTECTED};
	GbeProtectionFacts facts;

	gbe_protection_observe_units(app, look, &facts);
	/* The configuration switches it off; check_etcd() notes that. */
	if (gbe_config_is_off(app->config) ||
	    !(gbe_protection_is_off(&facts, &off) || gbe_protection_is_elsewhere(&facts, &off)))
		return;
	gbe_preflight_add(findings, "prerun", GBE_PREFLIGHT_BAD, "%s (%s)", off.reason, off.hint);
	gbe_protection_clear(&off);
}

/* The bytes that retention's removals would free; only blocks that no other file shares count. */
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
		    gbe_extents_of_tree(fd, true, &extents, NULL))
			bytes += extents.exclusive;
	}
	return bytes;
}

void
gbe_preflight_check_space(const GbeObserved *observed, GPtrArray *findings)
{
	const GbeFacts *facts = observed->facts;
	int fd = observed->store->fd >= 0 ? observed->store->fd : observed->data->parent_fd;
	GbeSpace space = {0};
	g_autoptr(GError) error = NULL;
	g_autofree char *write = NULL, *free_text = NULL, *missing = NULL;

	if (!gbe_extents_space(observed->data->fd, fd, facts->clones == GBE_YES, &space, &error)) {
		gbe_preflight_add(findings, "space", GBE_PREFLIGHT_UNKNOWN, "%s", error->message);
		return;
	}
	if (!gbe_space_fits(&space))
		space.reclaimable = reclaimable(observed);
	write = gbe_size_to_text(space.would_write);
	free_text = gbe_size_to_text(space.available);
	missing = gbe_size_to_text(gbe_space_missing(&space));
	if (space.would_make > space.inodes)
		gbe_preflight_add(findings, "space", GBE_PREFLIGHT_BAD,
				  "no room for the next upgrade's backup in %s: %" G_GUINT64_FORMAT
				  " more files can be made there, and it takes %" G_GUINT64_FORMAT,
				  observed->store->path, space.inodes, space.would_make);
	else if (gbe_space_missing(&space) > 0)
		gbe_preflight_add(
		    findings, "space", GBE_PREFLIGHT_BAD,
		    "no room for the next upgrade's backup in %s: %s to write, %s free, %s more "
		    "are needed",
		    observed->store->path, write, free_text, missing);
	else if (facts->clones == GBE_YES)
		gbe_preflight_add(findings, "space", GBE_PREFLIGHT_OK,
				  "backups are clones here and cost next to nothing; %s free",
				  free_text);
	else
		gbe_preflight_add(
		    findings, "space", GBE_PREFLIGHT_OK,
		    "backups are copies here (no clones from %s to %s): %s to write, %s free",
		    observed->data->path, observed->store->path, write, free_text);
}

/* The result of the run's own required check. */
static GbeHealth
recorded_health(const GbeFacts *facts, const char **ret_reason)
{
	const GbeRunRecord *run = gbe_facts_this_run(facts);

	*ret_reason = "not asked in this run";
	if (run == NULL)
		return GBE_HEALTH_NOT_ASKED;
	if (run->reason != NULL)
		*ret_reason = run->reason;
	return run->health;
}

void
gbe_preflight_check_etcd(const GbeApp *app, const GbeObserved *observed, const GbeHealthLook *look,
			 GPtrArray *findings)
{
	const char *reason = NULL;
	GbeHealth health = recorded_health(observed->facts, &reason);

	if (gbe_config_is_off(app->config)) {
		gbe_preflight_add(findings, "etcd", GBE_PREFLIGHT_NOTE,
				  "[etcd] service is empty: greenboot-etcd is off");
		return;
	}
	if (look != NULL) {
		health = look->report->health;
		reason = look->report->reason;
	}
	if (look != NULL && look->facts->opens_log == GBE_NO) {
		gbe_preflight_add(findings, "etcd", GBE_PREFLIGHT_BAD, "%s",
				  gbe_health_is_elsewhere(look->facts)
				      ? reason
				      : "etcd has its log elsewhere, so that a backup has none: "
					"see wal-dir= of [etcd]");
		return;
	}
	if (look != NULL && look->facts->read.reach == GBE_REACH_NO_USER)
		gbe_preflight_add(
		    findings, "user", GBE_PREFLIGHT_NOTE,
		    "defragmentation, snapshots, pushes and changes of members do not work: %s",
		    look->facts->read.why);
	switch (health) {
	case GBE_HEALTH_HEALTHY:
		gbe_preflight_add(
		    findings, "etcd", GBE_PREFLIGHT_OK, "healthy%s%s",
		    look != NULL && look->facts->version != NULL ? ", version " : "",
		    look != NULL && look->facts->version != NULL ? look->facts->version : "");
		break;
	case GBE_HEALTH_UNHEALTHY:
		gbe_preflight_add(
		    findings, "etcd", GBE_PREFLIGHT_BAD,
		    "etcd is not healthy (%s): mend it before an update is judged by it", reason);
		break;
	case GBE_HEALTH_NOT_ASKED:
		gbe_preflight_add(findings, "etcd", GBE_PREFLIGHT_NOTE, "etcd's health: %s",
				  reason);
		break;
	case GBE_HEALTH_CANNOT_TELL:
	default:
		gbe_preflight_add(findings, "etcd", GBE_PREFLIGHT_UNKNOWN,
				  "etcd's health cannot be told: %s", reason);
		break;
	}
}

void
gbe_preflight_check_key(GbeApp *app, GPtrArray *findings)
{
	g_autoptr(GError) error = NULL;
	const GbeKeys *keys = NULL;

	if (!gbe_app_keys(app, &keys, &error))
		gbe_preflight_add(findings, "key", GBE_PREFLIGHT_BAD, "%s", error->message);
}

void
gbe_preflight_check_rehearsal(GbeApp *app, const GbeObserved *observed, GPtrArray *findings)
{
	g_auto(GbeRehearsal) rehearsal = {{0}};
	g_autofree char *trouble = NULL;

	if (!gbe_rehearsal_load(app, observed->deployments, &rehearsal))
		return;
	trouble = gbe_rehearsal_trouble(&rehearsal);
	if (trouble != NULL)
		gbe_preflight_add(findings, GBE_PREFLIGHT_REHEARSAL, GBE_PREFLIGHT_BAD, "%s",
				  trouble);
	else if (rehearsal.result == GBE_REHEARSAL_PASSED)
		gbe_preflight_add(findings, GBE_PREFLIGHT_REHEARSAL, GBE_PREFLIGHT_OK,
				  "etcd %s of %s works on today's data%s%s",
				  rehearsal.to != NULL ? rehearsal.to : "", rehearsal.deployment.id,
				  rehearsal.going_back != NULL ? "; " : "",
				  rehearsal.going_back != NULL ? rehearsal.going_back : "");
	else
		gbe_preflight_add(findings, GBE_PREFLIGHT_REHEARSAL, GBE_PREFLIGHT_NOTE,
				  "%s is not rehearsed: %s", rehearsal.deployment.id,
				  rehearsal.reason);
}

#define BACKUPS "/var/lib/microshift-backups"
#define MARKER BACKUPS "/restore"

static bool
exists(const GbeApp *app, const char *path)
{
	gbe_autofd int fd = -1;

	return gbe_open_in_root(app->root_fd, path, O_PATH | O_NOFOLLOW, &fd, NULL);
}

static void
check_backups(const GbeApp *app, GPtrArray *findings)
{
	g_autoptr(GPtrArray) names = NULL;
	gbe_autofd int fd = -1;
	guint count = 0;

	if (!gbe_open_in_root(app->root_fd, BACKUPS, O_RDONLY | O_DIRECTORY, &fd, NULL) ||
	    !gbe_list_at(fd, BACKUPS, &names, NULL))
		return;
	for (guint i = 0; i < names->len; i++) {
		gbe_autofd int backup = -1;

		count += gbe_open_dir_at(fd, names->pdata[i], &backup, NULL);
	}
	gbe_preflight_add(findings, "microshift", GBE_PREFLIGHT_NOTE,
			  "MicroShift's own pre-run keeps backups in " BACKUPS
			  " (%u now); without room for one more it does not start",
			  count);
}

void
gbe_preflight_check_microshift(const GbeApp *app, GPtrArray *findings)
{
	static const char *const hooks[] = {
	    "/etc/greenboot/red.d/40_microshift_pre_rollback.sh",
	    "/usr/lib/greenboot/red.d/40_microshift_pre_rollback.sh",
	};

	if (g_strcmp0(app->config->etcd.service, GBE_MICROSHIFT_SERVICE) != 0)
		return;
	check_backups(app, findings);
	for (gsize i = 0; i < G_N_ELEMENTS(hooks); i++)
		if (exists(app, hooks[i]))
			gbe_preflight_add(
			    findings, "microshift", GBE_PREFLIGHT_NOTE,
			    "%s leaves the marker " MARKER
			    " when boot_counter is 0: docs/microshift.md says whether "
			    "to remove the hook",
			    hooks[i]);
	if (exists(app, MARKER))
		gbe_preflight_add(findings, "microshift", GBE_PREFLIGHT_NOTE,
				  "the marker " MARKER
				  " is there: where the next deployment goes on with another's "
				  "data, MicroShift restores its own backup; remove the marker");
}
