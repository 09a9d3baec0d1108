/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/backup/observe.h"

#include "app/backups/verify.h"
#include "app/state/state.h"
#include "core/backup-name.h"
#include "core/decide/decide.h"
#include "core/decide/past.h"
#include "core/decide/situation.h"
#include "core/space.h"
#include "fs/open.h"
#include "fs/probe.h"
#include "sys/child.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

void
gbe_observed_free(GbeObserved *observed)
{
	if (observed == NULL)
		return;
	gbe_facts_free(observed->facts);
	gbe_deployments_free(observed->deployments);
	gbe_greenboot_free(observed->greenboot);
	gbe_data_free(observed->data);
	gbe_store_free(observed->store);
	g_free(observed->store_why);
	gbe_tree_info_clear(&observed->tree);
	g_free(observed->tree_why);
	g_free(observed->tree_unknown);
	g_clear_pointer(&observed->damaged, g_ptr_array_unref);
	gbe_close_fd(&observed->lock_fd);
	g_free(observed);
}

static void
observe_clocks(GbeFacts *facts)
{
	struct timespec uptime;

	facts->now = g_get_real_time() / G_USEC_PER_SEC;
	if (clock_gettime(CLOCK_BOOTTIME, &uptime) == 0)
		facts->uptime = uptime.tv_sec;
}

static void
observe_system(GbeApp *app, GbeObserved *o)
{
	GbeFacts *facts = o->facts;
	const GbeListed *booted = NULL;
	g_autoptr(GError) error = NULL;

	if (!gbe_run_read(app->root_fd, !app->below_root, &facts->run, &error))
		facts->run_why = g_strdup(error->message);
	facts->skip = app->cmdline.skip;
	observe_clocks(facts);

	o->deployments = gbe_deployments_load(app->root_fd, app->root_path, &app->cmdline);
	facts->ostree = o->deployments->ostree;
	gbe_deployment_copy(&facts->booted, &o->deployments->booted);
	facts->booted_why = g_strdup(o->deployments->booted_why);
	if (o->deployments->listed == NULL)
		return;
	facts->listed = g_ptr_array_ref(o->deployments->listed);
	for (guint i = 0; i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (listed->booted)
			booted = listed;
		/* A staged deployment that is not locked becomes the default at shutdown. */
		if (facts->next == NULL &&
		    ((listed->staged && !listed->locked) || listed->is_default))
			facts->next = g_strdup(listed->ref.id);
	}
	if (booted != NULL)
		facts->booted_is_default = gbe_tri(booted->is_default);
}

/* Could greenboot bring an older deployment back, after @next has booted? NULL: now. A staged deployment that boots, or
 * that is not locked, is an entry of its own by then, and the booted deployment stays. */
static GbeTri
can_roll_back(const GbeFacts *facts, const GbeGreenboot *greenboot, const GbeListed *next)
{
	guint bootable = 0;

	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		bootable +=
		    !listed->staged || (next != NULL && (listed == next || !listed->locked));
	}
	if (facts->judges == GBE_NO || greenboot->can_count == GBE_NO ||
	    (gbe_facts_know_listed(facts) && bootable < 2))
		return GBE_NO;
	return facts->judges == GBE_YES && greenboot->can_count == GBE_YES && bootable >= 2
		   ? GBE_YES
		   : GBE_UNKNOWN;
}

static void
observe_greenboot(GbeApp *app, GbeObserved *o)
{
	GbeFacts *facts = o->facts;
	const char *second = NULL;
	guint entries = 0;

	o->greenboot = gbe_greenboot_load(app->root_fd);
	facts->judges = o->greenboot->enabled;
	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		/* A staged deployment that is not locked will be the first entry. */
		if (!(listed->staged && listed->locked) && entries++ == 1)
			second = listed->ref.id;
	}
	facts->can_roll_back = can_roll_back(facts, o->greenboot, NULL);
	facts->counted = o->greenboot->counts;
	/* After the countdown, GRUB boots its second entry, with any default. */
	if (o->greenboot->ends_countdown || o->greenboot->becomes_default) {
		g_free(facts->next);
		facts->next = g_strdup(o->greenboot->ends_countdown ? second : facts->booted.id);
	}

	/* greenboot's own fallback is no person's wish: the variable names the deployment that should have booted. */
	if (o->greenboot->next_deployment != NULL && facts->booted.id != NULL &&
	    gbe_greenboot_next_is(o->greenboot, facts->booted.id) == GBE_NO)
		facts->booted_is_default = GBE_NO;
}

/* The version that etcd named over its API, in the newest run of @of in which it answered. */
static const char *
said_in_runs(const GbeFacts *facts, const GbeDeployment *of, guint64 upto)
{
	const GbeRunRecord *newest = NULL;

	for (guint i = 0; i < facts->runs->len; i++) {
		const GbeRunRecord *run = facts->runs->pdata[i];

		if (run->etcd_version != NULL && run->sequence <= upto &&
		    (newest == NULL || run->sequence > newest->sequence) &&
		    gbe_situation_is_of(facts, &run->deployment, run->sequence, of))
			newest = run;
	}
	return newest != NULL ? newest->etcd_version : NULL;
}

/* Fills in the version of the booted deployment's etcd, as its program said when the deployment took the data. False:
 * the version is not recorded, or etcd's API has given another one since. */
static bool
recorded_version(GbeFacts *facts)
{
	GbeVersion said;

	facts->etcd_version = (GbeVersion){0};
	if (facts->booted.id == NULL)
		return false;
	/* The version that its program named at the newest take-over. */
	for (guint i = facts->take_overs->len; i > 0; i--) {
		const GbeTakeOver *to = facts->take_overs->pdata[i - 1];

		if (to->etcd_version != NULL &&
		    gbe_situation_is_of(facts, &to->deployment, to->sequence, &facts->booted)) {
			facts->etcd_version = gbe_version_parse(to->etcd_version);
			break;
		}
	}
	said = gbe_version_parse(said_in_runs(facts, &facts->booted, G_MAXUINT64));
	/* Another program may answer there, or etcd was replaced since. */
	return facts->etcd_version.known &&
	       (!said.known || gbe_version_compare(said, facts->etcd_version) == 0);
}

/* The version of the etcd that last had the data. */
static void
observe_writer(GbeFacts *facts)
{
	const GbeTakeOver *owner = facts->owner;
	const GbeManifest *from, *base;
	const GbeRunRecord *run;
	const char *text = NULL;

	if (owner == NULL)
		return;
	run = gbe_facts_run(facts, owner->sequence);
	/* When a take-over's etcd never answered, the version that the take-over found still holds. */
	from = gbe_facts_backup(facts, owner->source);
	base = gbe_facts_backup_of(facts, gbe_take_over_base(owner));
	if (run != NULL && run->etcd_version != NULL)
		text = run->etcd_version;
	else if (said_in_runs(facts, &owner->deployment, owner->sequence) != NULL)
		text = owner->etcd_version;
	else if (from != NULL && from->etcd_version != NULL)
		text = from->etcd_version;
	else if (base != NULL)
		text = base->etcd_version;
	facts->cluster_version = gbe_version_parse(text);
}

/* Below --root, only prerun starts a program of that root. A person's command must not run programs from there. */
static void
observe_version(GbeApp *app, const GbeObserveOptions *options, GbeFacts *facts)
{
	bool known = recorded_version(facts);
	g_autofree char *own = NULL;

	facts->etcd_here = gbe_is_in_root(app->root_fd, app->config->etcd.binary);

	/* Between two starts in one run, etcd may have been replaced: rpm-ostree apply-live. */
	if (known && !(options->lock_data && gbe_facts_taken_in_this_run(facts)))
		return;
	if (!app->below_root || options->decides)
		own = gbe_etcd_version_in_boot(app->root_fd, app->config->etcd.binary,
					       GBE_ETCD_VERSION_MS);
	if (own != NULL)
		facts->etcd_version = gbe_version_parse(own);
	else if (!known)
		facts->etcd_version = (GbeVersion){0};
}

/* Other configurations put backups elsewhere. The place of the last ones must be there; an older one that is not, was
 * removed. */
static void
observe_other_stores(GbeApp *app, GbeObserved *o)
{
	const GbeTakeOver *owner = o->facts->owner;

	for (guint i = o->facts->take_overs->len; i > 0; i--) {
		const GbeTakeOver *to = o->facts->take_overs->pdata[i - 1];
		bool last = owner != NULL && g_strcmp0(owner->store_path, to->store_path) == 0;
		const GbeStore *seen = o->store;
		g_autoptr(GError) error = NULL;

		if (to->store_path == NULL || to->store_fs == NULL ||
		    (o->store->near != NULL && g_str_equal(to->store_path, o->store->near->path)))
			continue;
		while (seen != NULL && !g_str_equal(to->store_path, seen->path))
			seen = seen->former;
		if (seen != NULL ||
		    gbe_store_observe_former(app, o->store, to->store_path, to->store_fs, o->facts,
					     o->damaged, &error) ||
		    (!last && g_error_matches(error, GBE_ERROR, GBE_ERROR_NOT_FOUND)) ||
		    o->facts->unread != NULL)
			continue;
		o->facts->unread =
		    g_strdup_printf("the store %s, where %sbackups were put: %s", to->store_path,
				    last ? "the last " : "", error->message);
	}
}

/* Is the backup in the store itself, and not in the one for displaced trees? */
static bool
is_in_store(const GbeObserved *o, const GbeManifest *backup)
{
	return o->store->fd >= 0 && gbe_store_at(o->store, backup->name) == o->store;
}

/* Is the backup in the store? Only an automatic name counts: it has the id of a run, which no other device has. */
static bool
has_own_backup(const GbeObserved *o, const GbeBackupRef *ref)
{
	const GbeManifest *backup = gbe_facts_backup(o->facts, ref->name);

	return backup != NULL && backup->sequence == ref->sequence &&
	       gbe_backup_name_parse(ref->name, NULL, NULL, NULL) == GBE_NAME_AUTOMATIC &&
	       is_in_store(o, backup);
}

/* The store on another file system, to which a person has moved it, alone or together with the data. If alone, it has a
 * backup that the ledger knows. */
static bool
is_store_moved(const GbeObserved *o, const char *fs)
{
	const GbeTakeOver *owner = o->facts->owner;

	if (owner->tree != NULL && o->facts->tree != NULL && fs != NULL &&
	    owner->mount_point == o->facts->mount_point &&
	    g_str_has_prefix(owner->tree, owner->store_fs) && g_str_has_prefix(o->facts->tree, fs))
		return true;
	for (guint i = 0; i < o->facts->take_overs->len; i++) {
		const GbeTakeOver *to = o->facts->take_overs->pdata[i];

		if (has_own_backup(o, &to->found) || has_own_backup(o, &to->closing.backup))
			return true;
	}
	return false;
}

/* A store that the ledger names but that has changed: not mounted, or another disk. */
static void
observe_recorded_store(GbeApp *app, GbeObserved *o)
{
	GbeFacts *facts = o->facts;
	const GbeTakeOver *owner = facts->owner;
	g_autofree char *path = g_strdup(o->store->path);
	g_autofree char *fs = NULL;
	gbe_autofd int fd = -1;
	bool elsewhere = false;
	guint before = facts->backups->len;

	if (owner == NULL || owner->store_fs == NULL ||
	    g_strcmp0(owner->store_path, o->store->path) != 0)
		return;
	if (o->store->fd >= 0 && g_strcmp0(owner->store_fs, o->store->fs) == 0)
		return;
	/* The store's own directory, else the nearest one above it. */
	while (path != NULL &&
	       !gbe_open_in_root(app->root_fd, path, O_RDONLY | O_DIRECTORY, &fd, NULL)) {
		g_autofree char *below = g_steal_pointer(&path);

		path = g_path_get_dirname(below);
		if (g_str_equal(path, below))
			g_clear_pointer(&path, g_free);
	}
	if (fd >= 0) {
		/* On a file system that is not the system's and not the state's. */
		elsewhere = !gbe_same_filesystem(fd, app->root_fd) &&
			    (app->state_fd < 0 || !gbe_same_filesystem(fd, app->state_fd));
		(void)!gbe_filesystem_id(fd, &fs, NULL);
	}
	/* A store that was removed is made again. */
	if (g_strcmp0(owner->store_fs, fs) == 0 || is_store_moved(o, fs))
		return;
	facts->store = GBE_NO;
	/* Ignore backups of another device, even if their deployment names match. */
	for (guint i = before; i > 0; i--)
		if (is_in_store(o, facts->backups->pdata[i - 1]))
			g_ptr_array_remove_index(facts->backups, i - 1);
	/* An empty disk that replaces it has the store from the next start on. Until then, the mount point without its
	 * mount is not the store. */
	if (facts->backups->len == before && elsewhere)
		return;
	g_free(facts->store_fs);
	facts->store_fs = g_strdup(owner->store_fs);
}

const char *
gbe_observe_cmdline(const GbeApp *app, bool *ret_rd)
{
	const GbeCmdline *cmdline = &app->cmdline;
	bool rd = app->initramfs || cmdline->restore == NULL;

	if (ret_rd != NULL)
		*ret_rd = rd;
	if (rd && cmdline->rd_skip)
		return NULL;
	return rd ? cmdline->rd_restore : cmdline->restore;
}

/* Requests of the kernel command line count once; they count again only after a boot without them. */
static void
observe_request(GbeApp *app, GbeFacts *facts)
{
	bool rd = false;
	const char *argument = gbe_observe_cmdline(app, &rd);
	g_autoptr(GError) error = NULL;

	if (argument == NULL || facts->run == NULL ||
	    g_strcmp0(argument, rd ? facts->rd_cmdline_done : facts->cmdline_done) == 0)
		return;
	/* One request a start: the command line's goes first. */
	facts->request_waits = facts->request.kind != GBE_REQUEST_NONE &&
			       !gbe_facts_is_this_run(facts, facts->request.run);
	gbe_request_clear(&facts->request);
	if (!gbe_request_parse_target(argument, &facts->request, &error)) {
		facts->request.kind = GBE_REQUEST_RESTORE;
		facts->request.name = g_strdup(argument);
		facts->request_why = g_strdup(error->message);
	}
	facts->request.from_cmdline = true;
	facts->request.text =
	    g_strconcat(rd ? GBE_CMDLINE_RD_RESTORE : GBE_CMDLINE_RESTORE, argument, NULL);
}

GbeTri
gbe_observe_cramped(const GbeObserved *observed)
{
	const GbeData *data = observed->data;
	/* If this is unknown, less is asked for: backups depend on the answer. */
	bool running = observed->facts->data_open != GBE_NO;
	int fd = data->fd >= 0 ? data->fd : data->parent_fd;
	guint64 free_bytes, total, inodes;

	if (fd < 0 || !gbe_filesystem_space(fd, &free_bytes, &total, &inodes, NULL))
		return GBE_UNKNOWN;
	return gbe_tri(!gbe_space_lets_etcd_start(free_bytes, inodes, running));
}

/* Finds data that the configuration no longer names: data-dir= has a typo, or was lost. */
static void
observe_left(GbeApp *app, GbeFacts *facts)
{
	const GbeTakeOver *owner = facts->owner;
	g_autofree char *tree = NULL;
	gbe_autofd int fd = -1;

	if (facts->data != GBE_NO || owner == NULL || owner->data_dir == NULL ||
	    owner->tree == NULL || g_strcmp0(owner->data_dir, facts->data_dir) == 0 ||
	    !gbe_open_in_root(app->root_fd, owner->data_dir, O_RDONLY | O_DIRECTORY, &fd, NULL))
		return;
	tree = gbe_tree_identity(fd);
	if (g_strcmp0(tree, owner->tree) == 0)
		facts->left_at = g_strdup(owner->data_dir);
}

/* Opens the data and the store, or takes them over. With ->tolerant, data or a store that cannot be opened has ->fd -1;
 * the reason is in the fact data_why or in ->store_why. */
static bool
open_places(GbeApp *app, const GbeObserveOptions *options, GbeObserved *o, GError **error)
{
	const char *directory = app->config->backup.directory;
	g_autoptr(GError) data_error = NULL;
	g_autoptr(GError) store_error = NULL;

	if (options->data != NULL && *options->data != NULL) {
		o->data = g_steal_pointer(options->data);
		o->store = g_steal_pointer(options->store);
		return true;
	}
	if (!gbe_data_open_any(app, &o->data, &data_error)) {
		if (!options->tolerant)
			return gbe_pass(error, &data_error);
		o->facts->data_why = g_strdup(data_error->message);
		o->facts->unopened_why = g_strdup(data_error->message);
		o->data = g_new0(GbeData, 1);
		o->data->path = g_strdup(app->config->etcd.data_dir);
		o->data->parent_fd = o->data->fd = o->data->wal_fd = -1;
	}
	if (!gbe_store_open(app, o->data, false, &o->store, &store_error)) {
		if (!options->tolerant)
			return gbe_pass(error, &store_error);
		o->store_why = g_strdup(store_error->message);
		if (o->facts->unopened_why == NULL)
			o->facts->unopened_why = g_strdup(store_error->message);
		o->store = g_new0(GbeStore, 1);
		o->store->path = g_strdup(directory != NULL ? directory : GBE_STATE_DIR "/backups");
		o->store->fd = o->store->top_fd = -1;
	}
	return true;
}

bool
gbe_observed_no_store(const GbeObserved *observed, GError **error)
{
	if (observed->store_why != NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED, "%s", observed->store_why);
	return gbe_throw(
	    error, GBE_ERROR_REFUSED,
	    "the store of backups %s is not there; mount it, or set [backup] directory",
	    observed->store->path);
}

bool
gbe_observed_is_readable(const GbeObserved *observed, GError **error)
{
	const GbeFacts *facts = observed->facts;

	return facts->data != GBE_UNKNOWN ||
	       gbe_throw(error, GBE_ERROR_CANNOT_TELL, "the data in %s cannot be read: %s",
			 observed->data->path,
			 facts->data_why != NULL ? facts->data_why : "unknown");
}

/* Observes what this program itself can change: the data, the store, the state. */
static bool
observe_records(GbeApp *app, const GbeObserveOptions *options, GbeObserved *o, GError **error)
{
	GbeFacts *facts = o->facts;

	gbe_config_free(facts->config);
	facts->config = app->config;
	facts->config_borrowed = true;
	if (!open_places(app, options, o, error))
		return false;
	gbe_data_observe(app, o->data, facts, options->lock_data ? &o->lock_fd : NULL);
	if (facts->data_why != NULL)
		facts->data = GBE_UNKNOWN;
	gbe_state_observe(app, facts);
	if (!gbe_store_observe(o->store, facts, &o->damaged, error))
		return false;
	if (o->store_why != NULL)
		facts->store = GBE_NO;
	gbe_identify(facts);
	observe_left(app, facts);
	observe_writer(facts);
	observe_recorded_store(app, o);
	observe_other_stores(app, o);
	facts->cramped = gbe_observe_cramped(o);
	/* Only a store that may be made: a recorded store that is away is not made again. */
	if (options->repair && o->store->fd < 0 && facts->store != GBE_NO) {
		GbeStore *former = g_steal_pointer(&o->store->former);

		g_clear_pointer(&o->store, gbe_store_free);
		if (!gbe_store_open(app, o->data, true, &o->store, error)) {
			gbe_store_free(former);
			return false;
		}
		o->store->former = former;
		g_free(facts->store_fs);
		g_free(facts->store_tree);
		facts->store_fs = g_strdup(o->store->fs);
		facts->store_tree = g_strdup(o->store->tree);
	}
	return true;
}

/* Fills in the facts about the booted deployment and this run from the records. */
static void
observe_booted(GbeApp *app, const GbeObserveOptions *options, GbeObserved *o)
{
	observe_version(app, options, o->facts);
	observe_request(app, o->facts);
}

bool
gbe_observe(GbeApp *app, const GbeObserveOptions *options, GbeObserved **ret_observed,
	    GError **error)
{
	g_autoptr(GbeObserved) o = g_new0(GbeObserved, 1);
	bool seen;

	o->lock_fd = -1;
	o->facts = gbe_facts_new();
	gbe_deployments_load_ahead(app->root_fd, app->root_path);
	seen = observe_records(app, options, o, error);
	if (seen && options->inside)
		gbe_observe_inside(o);
	/* Also called after an error: it waits for gbe_deployments_load_ahead(). */
	observe_system(app, o);
	if (!seen)
		return false;
	observe_greenboot(app, o);
	observe_booted(app, options, o);
	if (o->store->fd >= 0 && (o->data->fd >= 0 || o->data->parent_fd >= 0))
		o->facts->clones = gbe_probe_clone(
		    o->data->fd >= 0 ? o->data->fd : o->data->parent_fd, o->store->fd);
	*ret_observed = g_steal_pointer(&o);
	return true;
}

void
gbe_observe_inside(GbeObserved *observed)
{
	gint64 begin = g_get_monotonic_time();
	GbeFacts *facts = observed->facts;

	if (observed->looked || observed->starts || facts->data != GBE_YES ||
	    facts->data_open != GBE_NO)
		return;
	gbe_inside_data(observed->data, facts);
	observed->looked = true;
	observed->look_usec = g_get_monotonic_time() - begin;
}

void
gbe_observe_tree(GbeObserved *observed)
{
	const GbeTreeLimits limits = gbe_tree_look_limits();
	const GbeData *data = observed->data;
	g_autoptr(GError) error = NULL;

	if (observed->scanned)
		return;
	observed->scanned = true;
	if (data->fd < 0 ||
	    gbe_tree_scan(data->fd, gbe_data_exclude, &limits, &observed->tree, &error))
		return;
	/* A walk that took too long gives no result. The same holds for an unreadable file. */
	if (g_error_matches(error, GBE_ERROR, GBE_ERROR_UNSAFE_SOURCE) &&
	    g_get_monotonic_time() < limits.deadline)
		observed->tree_why = g_strdup(error->message);
	else
		observed->tree_unknown = g_strdup(error->message);
}

bool
gbe_observe_again(GbeApp *app, const GbeObserveOptions *options, GbeObserved *observed,
		  GError **error)
{
	g_autoptr(GbeObserved) o = g_new0(GbeObserved, 1);
	const GbeFacts *old = observed->facts;
	GbeFacts *facts = gbe_facts_new();
	GbeObserved before;

	o->lock_fd = -1;
	o->starts = observed->starts;
	/* This program's own lock on etcd's database would look like another process's. */
	gbe_close_fd(&observed->lock_fd);
	/* The facts from ostree, systemd and greenboot are kept; the rest is observed again. */
	o->facts = facts;
	facts->ostree = old->ostree;
	gbe_deployment_copy(&facts->booted, &old->booted);
	facts->booted_why = g_strdup(old->booted_why);
	facts->run = g_strdup(old->run);
	facts->run_why = g_strdup(old->run_why);
	facts->listed = old->listed != NULL ? g_ptr_array_ref(old->listed) : NULL;
	facts->booted_is_default = old->booted_is_default;
	facts->next = g_strdup(old->next);
	facts->skip = old->skip;
	facts->judges = old->judges;
	facts->can_roll_back = old->can_roll_back;
	facts->counted = old->counted;
	facts->etcd_version = old->etcd_version;
	facts->clones = old->clones;
	facts->rejected = old->rejected != NULL ? g_hash_table_ref(old->rejected) : NULL;
	observe_clocks(facts);
	if (!observe_records(app, options, o, error))
		return false;
	observe_booted(app, options, o);
	/* The former observation is freed with @o. */
	o->deployments = g_steal_pointer(&observed->deployments);
	o->greenboot = g_steal_pointer(&observed->greenboot);
	before = *observed;
	*observed = *o;
	*o = before;
	return true;
}

/* ---- the facts of the next boot, for status and explain ---- */

const GbeListed *
gbe_observe_find(const GbeFacts *facts, const char *wanted, GError **error)
{
	guint64 index = 0;
	bool by_index =
	    wanted != NULL && g_ascii_string_to_unsigned(wanted, 10, 0, G_MAXUINT, &index, NULL);

	for (guint i = 0; facts->listed != NULL && i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (wanted == NULL ? g_strcmp0(listed->ref.id, facts->next) == 0
		    : by_index	   ? listed->index == index
		    : g_str_equal(wanted, "rollback")
			? listed->rollback
			: (g_str_equal(wanted, "staged") ? listed->staged
							 : g_str_equal(wanted, listed->ref.id)))
			return listed;
	}
	if (wanted != NULL && (g_str_equal(wanted, "staged") || g_str_equal(wanted, "rollback")))
		gbe_throw(error, GBE_ERROR_NOT_FOUND,
			  "%s: no deployment has this place; `ostree admin status` lists them",
			  wanted);
	else if (wanted != NULL)
		gbe_throw(error, GBE_ERROR_NOT_FOUND,
			  "no deployment %s; `ostree admin status` lists them", wanted);
	return NULL;
}

void
gbe_observe_live(GbeObserved *observed, const GbeHealthFacts *live)
{
	GbeFacts *facts = observed->facts;
	GbeVersion version;

	if (live == NULL || facts->data_open != GBE_YES || live->opens_db != GBE_YES)
		return;
	if (live->voters > 0)
		facts->voters = live->voters;
	version = gbe_version_parse(live->version);
	if (version.known)
		facts->cluster_version = version;
}

/* Sets the facts to those after @wanted boots: its etcd is another one, and greenboot may have taken it as a
 * fallback. */
static void
boot_next(GbeObserved *observed, const GbeListed *wanted)
{
	const GbeGreenboot *greenboot = observed->greenboot;
	GbeFacts *facts = observed->facts;

	if (!gbe_deployment_same(&facts->booted, &wanted->ref)) {
		gbe_deployment_copy(&facts->booted, &wanted->ref);
		recorded_version(facts);
	}
	facts->can_roll_back = can_roll_back(facts, greenboot, wanted);
	/* The boot that ends the countdown is not counted. In the shell version the booted deployment is the default
	 * from then on. The Rust version lets GRUB boot the second entry until a boot is green. */
	if (greenboot->ends_countdown) {
		facts->counted = GBE_NO;
		if (greenboot->flavour == GBE_GREENBOOT_SHELL) {
			g_free(facts->next);
			facts->next = g_strdup(wanted->ref.id);
		}
	}
	/* A staged deployment will be the default once it boots. */
	facts->booted_is_default = gbe_tri(wanted->is_default || wanted->staged);
	if (greenboot->next_deployment != NULL &&
	    gbe_greenboot_next_is(greenboot, wanted->ref.id) == GBE_NO)
		facts->booted_is_default = GBE_NO;
}

bool
gbe_observe_next_boot(GbeObserved *observed, const char *booted, const char *verdict,
		      GbeTri deliberate, GError **error)
{
	GbeFacts *facts = observed->facts;
	g_autoptr(GError) local = NULL;
	const GbeListed *wanted = gbe_observe_find(facts, booted, &local);
	const char *id;
	guint starts;

	if (local != NULL)
		return gbe_pass(error, &local);
	if (wanted != NULL)
		boot_next(observed, wanted);
	gbe_decide_recovered(facts);
	for (guint i = 0; verdict != NULL && facts->owner != NULL && i < facts->runs->len; i++) {
		GbeRunRecord *run = facts->runs->pdata[i];

		if (run->sequence != facts->owner->sequence)
			continue;
		run->verdict = gbe_verdict_from_string(verdict);
		run->was_green = false;
		/* A question about a green run means a healthy one. */
		if (run->verdict == GBE_VERDICT_GREEN)
			run->health = GBE_HEALTH_HEALTHY;
	}
	/* The next start also counts, and it may be the one that gives up. */
	id = facts->booted.id != NULL ? facts->booted.id : "";
	starts = GPOINTER_TO_UINT(g_hash_table_lookup(facts->starts, id));
	g_hash_table_insert(facts->starts, g_strdup(id), GUINT_TO_POINTER(starts + 1));
	/* The record of that start precedes the decision; in a new ledger, so does its own first record. */
	facts->next_sequence =
	    MAX(facts->next_sequence, facts->ledger_last + (facts->ledger == GBE_NO ? 3 : 2));
	if (deliberate != GBE_UNKNOWN)
		facts->booted_is_default = deliberate;
	/* A new run has its own command line, and the data is not open yet. */
	facts->skip = false;
	g_free(facts->run);
	facts->run = g_strnfill(32, 'f');
	/* Open data changes until then: it is not looked into. */
	observed->starts = observed->starts || facts->data_open != GBE_NO;
	if (facts->data == GBE_YES)
		facts->data_open = GBE_NO;
	return true;
}
