/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * `defrag BACKUP`: a backup is never changed. Another backup is made from a clone of it, in which etcd's own tool
 * wrote the database anew. app/backup/partial.h has the steps and what a power cut leaves.
 */
#include "app/upkeep/defrag-private.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "app/backup/partial.h"
#include "app/backups/verify.h"
#include "app/by-hand/session.h"
#include "core/backup-name.h"
#include "etcd/directory/member.h"
#include "etcd/layout.h"
#include "fs/copy/clone.h"
#include "fs/open.h"

typedef struct {
	GbeApp *app;
	const char *name; /* the name of the new backup */
	const GbeDefrag *options;
	GbeSession *session;
	GbeDefragResult *result;
	const GbeManifest *from;
	GbeVerification *source; /* of @from, with every row */
	GbePartial partial;
	char *member_path;
} Anew;

static void
anew_clear(Anew *anew)
{
	g_clear_pointer(&anew->source, gbe_verification_free);
	gbe_partial_clear(&anew->partial);
	g_clear_pointer(&anew->member_path, g_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Anew, anew_clear)

/* Checks that the backup matches its manifest, and is sound. */
static bool
look(Anew *anew, const char *name, GError **error)
{
	const GbeVerifyOptions full = {.level = GBE_VERIFY_FULL};
	GbeDefragResult *result = anew->result;
	const GbeConfig *config = anew->app->config;
	GbeSeverity worst;

	if (!gbe_session_find(anew->session->observed, name, &anew->from, error) ||
	    !gbe_verify_backup(anew->app, anew->session->observed->store, anew->from, &full,
			       &anew->source, error))
		return false;
	worst = gbe_findings_worst(&anew->source->findings);
	if (worst == GBE_FINDING_DAMAGE || worst == GBE_FINDING_UNKNOWN) {
		g_autofree char *what =
		    gbe_finding_to_text(gbe_findings_first(&anew->source->findings));

		return gbe_throw(error,
				 worst == GBE_FINDING_DAMAGE ? GBE_ERROR_VERIFY_FAILED
							     : GBE_ERROR_CANNOT_TELL,
				 "backup %s: %s", name, what);
	}
	if (!anew->source->directory.has_db)
		return gbe_throw(error, GBE_ERROR_REFUSED, "backup %s has no database yet", name);
	result->before = result->after = gbe_defrag_sizes(&anew->source->directory.db);
	result->need = gbe_defrag_need(result->before.size, result->before.in_use,
				       config->defrag.min_size, config->defrag.max_fragmentation);
	result->healthy = true;
	return true;
}

static bool
clone_it(Anew *anew, int *ret_data_fd, GError **error)
{
	/* A writable directory and not a snapshot: the tool writes into it. */
	const GbeCloneOptions options = {.allowed = GBE_METHOD_REFLINK,
					 .progress = gbe_app_progress,
					 .progress_data = anew->app};
	const GbeStore *at = gbe_store_at(anew->session->observed->store, anew->from->name);
	g_auto(GbeCloneResult) result = {0};
	gbe_autofd int from_fd = -1;

	return gbe_open_dir_at(at->fd, anew->from->name, &from_fd, error) &&
	       gbe_clone_tree_at(from_fd, GBE_STORE_DATA, anew->partial.fd, GBE_STORE_DATA,
				 &options, &result, error) &&
	       gbe_open_dir_at(anew->partial.fd, GBE_STORE_DATA, ret_data_fd, error);
}

static bool
run_tool(const Anew *anew, int data_fd, GError **error)
{
	gbe_autofd int tool_fd = -1;
	gbe_autofd int member_fd = -1;
	gbe_autofd int db_fd = -1;
	const char *tool = NULL;
	struct stat st;

	if (!gbe_etcd_tool_open(anew->app, GBE_DEFRAG_FOR, &tool, &tool_fd, error) ||
	    !gbe_layout_open(data_fd, anew->member_path, "member", &member_fd, error) ||
	    !gbe_layout_open_db(data_fd, anew->member_path, &db_fd, error))
		return false;
	if (fstat(db_fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at the clone's database");
	return gbe_defrag_run_tool(&(GbeChildUser){st.st_uid, st.st_gid}, tool, tool_fd, member_fd,
				   anew->options->timeout, error);
}

/* Reads the whole directory and not only the database: the manifest needs the log's facts, too. */
static bool
prove(const Anew *anew, int data_fd, GbeDirectory *directory, GError **error)
{
	const GbeDbOptions full = {.level = GBE_VERIFY_FULL};
	gbe_autofd int wal_fd = gbe_data_open_wal_of_copy(anew->app, anew->from->data_dir, data_fd);
	g_auto(GbeFindings) findings = {0};
	g_autofree char *what = NULL;

	gbe_findings_init(&findings);
	if (!gbe_directory_read(data_fd, anew->member_path, wal_fd, &full, directory, &findings,
				error))
		return false;
	if (gbe_findings_worst(&findings) == GBE_FINDING_DAMAGE)
		what = gbe_finding_to_text(gbe_findings_first(&findings));
	else if (!directory->has_db ||
		 !gbe_defrag_same(&anew->source->directory.db, &directory->db))
		what = g_strdup("its rows are not those of the backup");
	return what == NULL || gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "what etcd's tool made of it is not right: %s", what);
}

static bool
describe(const Anew *anew, int data_fd, const GbeDirectory *directory, GError **error)
{
	g_autofree char *description = g_strdup_printf("%s, defragmented", anew->from->name);
	g_autoptr(GbeManifest) manifest =
	    gbe_partial_manifest(&anew->partial, anew->session->observed, directory, description);

	manifest->voters = anew->from->voters;
	if (manifest->etcd_version == NULL)
		manifest->etcd_version = g_strdup(anew->from->etcd_version);
	if (manifest->data_version == NULL)
		manifest->data_version = g_strdup(anew->from->data_version);
	return gbe_partial_describe(anew->app, &anew->partial, data_fd, anew->member_path, manifest,
				    error);
}

static bool
make(Anew *anew, GError **error)
{
	const GbeObserved *observed = anew->session->observed;
	guint64 room = gbe_defrag_room(anew->result->before.in_use) +
		       (observed->facts->clones == GBE_YES ? 0 : anew->from->size);
	g_auto(GbeDirectory) directory = {0};
	gbe_autofd int data_fd = -1;
	gint64 began;

	if (!gbe_partial_make(observed, anew->name, &anew->partial, error) ||
	    !gbe_defrag_check_room(anew->partial.fd, observed->store->path, room, error) ||
	    !clone_it(anew, &data_fd, error) ||
	    !gbe_member_locate(data_fd, anew->app->config->etcd.member_dir, &anew->member_path,
			       error))
		return false;
	began = g_get_monotonic_time();
	if (!run_tool(anew, data_fd, error))
		return false;
	anew->result->duration_usec = g_get_monotonic_time() - began;
	if (!prove(anew, data_fd, &directory, error) ||
	    !describe(anew, data_fd, &directory, error) ||
	    !gbe_partial_publish(&anew->partial, error))
		return false;
	anew->result->after = gbe_defrag_sizes(&directory.db);
	anew->result->done = true;
	anew->result->made = g_strdup(anew->name);
	return true;
}

/* Replaces the characters that an automatic name has and a name given by hand may not have. */
static char *
derive_name(const char *name)
{
	return g_strcanon(g_strconcat(name, "-defragmented", NULL),
			  G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._+-", '-');
}

bool
gbe_defrag_backup(GbeApp *app, const char *name, const char *new_name, const GbeDefrag *options,
		  GbeDefragResult *ret_result, GError **error)
{
	const GbeSessionOptions how = {.operation = "defrag", .dry_run = options->dry_run};
	g_autofree char *derived = new_name == NULL ? derive_name(name) : NULL;
	g_auto(GbeDefragResult) result = {0};
	GbeSession session;
	g_auto(Anew) anew = {.app = app,
			     .name = derived != NULL ? derived : new_name,
			     .options = options,
			     .session = &session,
			     .result = &result,
			     .partial = {.fd = -1}};
	bool ok;

	if (!gbe_backup_name_check_manual(anew.name, error) ||
	    !gbe_session_begin(app, &how, &session, error))
		return false;
	result.of = g_strdup(name);
	ok = look(&anew, name, error);
	if (ok && !options->dry_run && (!options->if_needed || result.need == GBE_DEFRAG_DUE))
		ok = make(&anew, error);
	if (ok && result.done)
		gbe_session_record(&session, "done", name, result.made);
	anew_clear(&anew);
	if (!gbe_session_finish(&session, ok, error))
		return false;
	*ret_result = result;
	memset(&result, 0, sizeof result);
	return true;
}
