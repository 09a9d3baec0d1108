/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/import-private.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fault.h"
#include "core/backup-name.h"
#include "etcd/layout.h"
#include "etcd/member.h"
#include "etcd/snapshot-sum.h"
#include "fs/compare.h"
#include "fs/exchange.h"
#include "fs/open.h"
#include "fs/remove.h"
#include "fs/sync.h"
#include "fs/tree.h"
#include "fs/unpack.h"
#include "fs/write.h"

void
gbe_imported_clear(GbeImported *imported)
{
	g_clear_pointer(&imported->name, g_free);
}

static void
importing_clear(GbeImporting *importing)
{
	g_autoptr(GError) ignored = NULL;

	/* What cannot be removed now is swept by the next one under the lock. */
	if (importing->entry_fd >= 0 && !gbe_remove_tree_at(importing->session->observed->store->fd,
							    importing->partial, &ignored))
		g_debug("%s", ignored->message);
	gbe_close_fd(&importing->entry_fd);
	g_clear_pointer(&importing->name, g_free);
	g_clear_pointer(&importing->partial, g_free);
	g_clear_pointer(&importing->member_path, g_free);
	g_clear_pointer(&importing->source, gbe_verification_free);
	g_clear_pointer(&importing->manifest, gbe_manifest_free);
}

/* Of the file's name what a backup's may have. */
static char *
derive_name(const char *path)
{
	g_autofree char *base = g_path_get_basename(path);
	char *dot = strchr(base, '.');
	char *name;

	if (dot != NULL && dot > base)
		*dot = '\0';
	name = g_strdup_printf("imported-%.150s", base);
	return g_strcanon(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-", '-');
}

typedef struct {
	const char *member; /* the first name on the way to member/ */
	char *other;	    /* what is there besides */
} Beside;

static void
look_beside(const char *name, gpointer data)
{
	Beside *beside = data;

	if (!g_str_equal(name, beside->member) && !g_str_equal(name, GBE_STAMP_NAME) &&
	    !g_strv_contains(gbe_data_exclude, name) && beside->other == NULL)
		beside->other = g_strdup(name);
}

/* What a restore would take away, as it puts the whole of a backup in the place of the whole data. */
static bool
check_beside(const GbeImporting *importing, GError **error)
{
	const GbeData *data = importing->session->observed->data;
	g_auto(GStrv) parts = g_strsplit(importing->member_path, "/", 2);
	Beside beside = {.member = parts[0] != NULL && *parts[0] != '\0' ? parts[0] : "member"};
	g_autofree char *other = NULL;

	if (data->fd < 0 || importing->options->etcd_only)
		return true;
	if (!gbe_layout_each_name(data->fd, data->path, look_beside, &beside, error))
		return false;
	other = beside.other;
	if (other == NULL)
		return true;
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s holds more than etcd's data (%s), which a restore of this would take "
			 "away: --etcd-only imports it all the same",
			 data->path, other);
}

static bool
check(GbeImporting *importing, GError **error)
{
	const GbeObserved *observed = importing->session->observed;
	const GbeFacts *facts = observed->facts;
	const char *member_dir = importing->app->config->etcd.member_dir;

	if (facts->store == GBE_NO || observed->store->fd < 0)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "the store of backups %s is not there: mount it",
				 observed->store->path);
	if (gbe_facts_backup(facts, importing->name) != NULL ||
	    (facts->taken != NULL && g_hash_table_contains(facts->taken, importing->name)))
		return gbe_throw(error, GBE_ERROR_FAILED,
				 "%s is there already in %s: take another name", importing->name,
				 observed->store->path);
	if (observed->data->wal_dir != NULL)
		return gbe_throw(error, GBE_ERROR_REFUSED,
				 "[etcd] wal-dir is set: a backup of the rest alone would be none");
	if (observed->data->member_path != NULL)
		importing->member_path = g_strdup(observed->data->member_path);
	else if (g_str_equal(member_dir, "auto") || g_str_equal(member_dir, "."))
		importing->member_path = g_strdup("");
	else
		importing->member_path = g_strdup(member_dir);
	return check_beside(importing, error);
}

static bool
put(const void *bytes, gsize size, gpointer data, GError **error)
{
	GbeImporting *importing = data;
	const GbeImport *options = importing->options;
	int *fd = &importing->source_fd;

	for (const char *at = bytes; size > 0;) {
		ssize_t wrote = write(*fd, at, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return gbe_throw_errno(error, errno, "cannot write to the store");
		at += wrote;
		size -= (gsize)wrote;
		importing->taken += (guint64)wrote;
	}
	return options->progress == NULL ||
	       options->progress(importing->taken, 0, options->progress_data) ||
	       gbe_throw(error, GBE_ERROR_FAILED, "interrupted");
}

static bool
open_file(GbeImporting *importing, int *ret_fd, GError **error)
{
	const char *path = importing->options->path;
	g_autofree char *absolute =
	    importing->app->below_root ? g_strdup(path) : g_canonicalize_filename(path, NULL);
	struct stat st;

	if (!gbe_open_in_root(importing->app->root_fd, absolute, O_RDONLY | O_NONBLOCK, ret_fd,
			      error))
		return false;
	if (fstat(*ret_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", path);
	return S_ISREG(st.st_mode) ||
	       gbe_throw(error, GBE_ERROR_REFUSED, "%s is not a regular file", path);
}

static bool
check_source(const GbeImporting *importing, GError **error)
{
	const GbeVerification *source = importing->source;
	GbeSeverity worst = gbe_findings_worst(&source->findings);
	g_autofree char *what = NULL;

	if (worst == GBE_FINDING_DAMAGE || worst == GBE_FINDING_UNKNOWN) {
		what = gbe_finding_to_text(gbe_findings_first(&source->findings));
		return gbe_throw(error,
				 worst == GBE_FINDING_DAMAGE ? GBE_ERROR_VERIFY_FAILED
							     : GBE_ERROR_CANNOT_TELL,
				 "%s", what);
	}
	return source->directory.db.size % GBE_SNAPSHOT_SECTOR == GBE_SNAPSHOT_SUM ||
	       importing->options->no_checksum ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s: no checksum is behind the database: it was copied, or is cut off; "
			 "--no-checksum takes it all the same",
			 importing->options->path);
}

/* The file that is in the file, proved. */
static bool
unpack(GbeImporting *importing, GError **error)
{
	const GbeVerifyOptions full = {.level = GBE_VERIFY_FULL};
	gbe_autofd int from = -1;
	bool ok;

	if (!open_file(importing, &from, error))
		return false;
	importing->source_fd = openat(importing->entry_fd, GBE_IMPORT_SNAPSHOT,
				      O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (importing->source_fd < 0)
		return gbe_throw_errno(error, errno, "make %s", GBE_IMPORT_SNAPSHOT);
	ok = gbe_unpack_one(from, importing->options->path, put, importing, error) &&
	     gbe_verify_snapshot(importing->app, importing->source_fd, importing->options->path,
				 &full, &importing->source, error) &&
	     check_source(importing, error);
	gbe_close_fd(&importing->source_fd);
	return ok;
}

static bool
give(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
     GError **error)
{
	const struct stat *owner = data;

	return fchownat(dir_fd, name, owner->st_uid, owner->st_gid, AT_SYMLINK_NOFOLLOW) == 0 ||
	       gbe_throw_errno(error, errno, "give %s to its owner", path);
}

/* Whose the present data is, who is the one that etcd runs as. */
static bool
give_all(const GbeImporting *importing, int data_fd, GError **error)
{
	const GbeData *present = importing->session->observed->data;
	struct stat owner;

	if (present->fd < 0)
		return true;
	if (fstat(present->fd, &owner) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", present->path);
	if (fchown(data_fd, owner.st_uid, owner.st_gid) < 0 ||
	    fchmod(data_fd, owner.st_mode & 07777) < 0)
		return gbe_throw_errno(error, errno, "give the data to its owner");
	return gbe_tree_walk(data_fd, NULL, give, &owner, error);
}

/* What came out: sound, and with every row of what came in. */
static bool
prove(const GbeImporting *importing, int data_fd, GbeDirectory *directory, GError **error)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	const GbeDb *from = &importing->source->directory.db;
	g_auto(GbeFindings) findings = {0};
	g_autofree char *what = NULL;

	gbe_findings_init(&findings);
	if (!gbe_directory_read(data_fd, importing->member_path, -1, &full, directory, &findings,
				error))
		return false;
	if (gbe_findings_worst(&findings) == GBE_FINDING_DAMAGE)
		what = gbe_finding_to_text(gbe_findings_first(&findings));
	else if (!directory->has_db || directory->db.revision != from->revision ||
		 directory->db.has_hash_kv != from->has_hash_kv ||
		 directory->db.hash_kv != from->hash_kv)
		what = g_strdup("its keys are not those of the snapshot");
	return what == NULL || gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "what etcd's tool made of it is not right: %s", what);
}

/* "3.5" of "3.5.0". */
static char *
minor_of(const char *version)
{
	const char *dot = version != NULL ? strchr(version, '.') : NULL;
	const char *next = dot != NULL ? strchr(dot + 1, '.') : NULL;

	return next != NULL ? g_strndup(version, (gsize)(next - version)) : NULL;
}

static bool
describe(GbeImporting *importing, int data_fd, const GbeDirectory *directory, GError **error)
{
	const GbeFacts *facts = importing->session->observed->facts;
	GbeManifest *manifest = importing->manifest = gbe_manifest_new();
	g_autofree char *from = gbe_path_to_text(importing->options->path);
	g_autofree char *text = NULL;

	manifest->written_by = g_strdup(GBE_VERSION);
	manifest->name = g_strdup(importing->name);
	manifest->origin = GBE_ORIGIN_MANUAL;
	manifest->sequence = facts->next_sequence;
	manifest->lineage.line = manifest->sequence;
	manifest->trial.used = -1;
	manifest->grade = GBE_GRADE_UNPROVEN;
	manifest->verified = GBE_VERIFIED_FULL;
	manifest->method = GBE_METHOD_COPY;
	manifest->created = facts->now;
	manifest->data_dir = g_strdup(facts->data_dir);
	manifest->description = g_strdup_printf("imported from %s", from);
	manifest->etcd_version = minor_of(importing->source->directory.db.cluster_version);
	manifest->revision = directory->db.revision;
	manifest->voters = 1;
	if (directory->wal.has_metadata) {
		manifest->member_id =
		    g_strdup_printf("%016" G_GINT64_MODIFIER "x", directory->wal.metadata.member);
		manifest->cluster_id =
		    g_strdup_printf("%016" G_GINT64_MODIFIER "x", directory->wal.metadata.cluster);
	}
	if (!gbe_member_fingerprint(data_fd, importing->member_path, -1, &manifest->fingerprint,
				    error) ||
	    !gbe_compare_record(data_fd, gbe_data_exclude, TRUE, manifest, error))
		return false;
	text = gbe_manifest_print(manifest);
	return gbe_write_file_at(importing->entry_fd, GBE_MANIFEST_NAME, text, strlen(text), 0600,
				 GBE_WRITE_LATER, error);
}

static bool
make_data(GbeImporting *importing, GError **error)
{
	g_auto(GbeDirectory) directory = {0};
	gbe_autofd int data_fd = -1;

	if (!unpack(importing, error) || GBE_FAULT("import-unpacked", error) ||
	    !gbe_import_restore(importing, error))
		return false;
	if (unlinkat(importing->entry_fd, GBE_IMPORT_SNAPSHOT, 0) < 0)
		return gbe_throw_errno(error, errno, "remove %s", GBE_IMPORT_SNAPSHOT);
	return gbe_open_dir_at(importing->entry_fd, GBE_STORE_DATA, &data_fd, error) &&
	       give_all(importing, data_fd, error) &&
	       prove(importing, data_fd, &directory, error) &&
	       describe(importing, data_fd, &directory, error) &&
	       !GBE_FAULT("import-described", error);
}

static bool
make_entry(GbeImporting *importing, GError **error)
{
	const GbeStore *store = importing->session->observed->store;

	if (!gbe_remove_tree_at(store->fd, importing->partial, error))
		return false;
	if (mkdirat(store->fd, importing->partial, 0700) < 0)
		return gbe_throw_errno(error, errno, "make %s in %s", importing->partial,
				       store->path);
	if (!gbe_open_dir_at(store->fd, importing->partial, &importing->entry_fd, error) ||
	    !make_data(importing, error) || !gbe_sync_fs(store->fd, store->path, error) ||
	    GBE_FAULT("import-synced", error) ||
	    !gbe_rename_new_at(store->fd, importing->partial, store->fd, importing->name, error))
		return false;
	gbe_close_fd(&importing->entry_fd);
	return !GBE_FAULT("import-renamed", error) && gbe_sync_dir(store->fd, store->path, error);
}

bool
gbe_import(GbeApp *app, const GbeImport *options, GbeImported *ret_imported, GError **error)
{
	const GbeSessionOptions how = {.operation = "import"};
	GbeSession session;
	GbeImporting importing = {.app = app,
				  .options = options,
				  .session = &session,
				  .source_fd = -1,
				  .entry_fd = -1};
	GbeImported imported = {0};
	bool ok;

	importing.name =
	    options->name != NULL ? g_strdup(options->name) : derive_name(options->path);
	importing.partial = g_strconcat(GBE_RUNG_PARTIAL, importing.name, NULL);
	if (!gbe_backup_name_check_manual(importing.name, error) ||
	    !gbe_session_begin(app, &how, &session, error)) {
		importing_clear(&importing);
		return false;
	}
	ok = check(&importing, error) && make_entry(&importing, error);
	if (ok) {
		imported = (GbeImported){.name = g_strdup(importing.name),
					 .size = importing.manifest->size,
					 .revision = importing.manifest->revision};
		gbe_session_record(&session, "done", importing.manifest->description,
				   importing.name, NULL);
	}
	importing_clear(&importing);
	if (!ok) {
		gbe_session_abandon(&session);
		return false;
	}
	*ret_imported = imported;
	return gbe_session_end(&session, error);
}
