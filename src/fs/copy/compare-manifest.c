/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Compares a tree with the list of files in its manifest. The list has paths as gbe_path_to_text() returns them, so
 * that any name fits into a record. Each name of a hard link is listed, and its size counts once.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/record/take-over.h"
#include "fs/copy/compare-file.h"
#include "fs/open.h"
#include "fs/tree.h"

GPtrArray *
gbe_compare_excluded(const char *const *exclude)
{
	GPtrArray *names = g_ptr_array_new();

	for (; exclude != NULL && *exclude != NULL; exclude++)
		g_ptr_array_add(names, (gpointer)*exclude);
	g_ptr_array_add(names, (gpointer)GBE_NONCE_NAME);
	g_ptr_array_add(names, NULL);
	return names;
}

/* Of all paths in the list. With the other fields of each file they take half of what a record may have. */
#define MAX_PATH_BYTES ((gsize)256 * 1024)

typedef struct {
	GbeFileComparer file;
	bool digests;
	GHashTable *links; /* of GbeInode */
	GHashTable *known; /* GbeInode -> char *, the digest of a file with several names */
	guint64 files;
	guint64 bytes;
	gsize path_bytes;
	GHashTable *listed;    /* path -> const GbeManifestFile *, those not found yet; or NULL */
	GbeManifest *recorded; /* the entries found, or NULL */
} Listing;

static void
listing_clear(Listing *listing)
{
	gbe_file_comparer_clear(&listing->file);
	g_clear_pointer(&listing->links, g_hash_table_unref);
	g_clear_pointer(&listing->known, g_hash_table_unref);
	g_clear_pointer(&listing->listed, g_hash_table_unref);
	g_clear_pointer(&listing->recorded, gbe_manifest_free);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Listing, listing_clear)

/* A file with several names is read once. */
static bool
digest_of(Listing *listing, int dir_fd, const char *name, const struct stat *st, const char *what,
	  char **ret_digest, GError **error)
{
	GbeInode inode = {.dev = st->st_dev, .ino = st->st_ino};
	const char *known = g_hash_table_lookup(listing->known, &inode);
	gbe_autofd int fd = -1;

	if (known != NULL) {
		*ret_digest = g_strdup(known);
		return true;
	}
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return gbe_throw_errno(error, errno, "cannot open %s", what);
	if (!gbe_file_comparer_digest(&listing->file, fd, what, ret_digest, error))
		return false;
	if (st->st_nlink > 1)
		g_hash_table_insert(listing->known, g_memdup2(&inode, sizeof(inode)),
				    g_strdup(*ret_digest));
	return true;
}

static bool
check_file(Listing *listing, int dir_fd, const char *name, const struct stat *st, const char *what,
	   GError **error)
{
	const GbeManifestFile *file = g_hash_table_lookup(listing->listed, what);
	guint64 size = (guint64)st->st_size;
	g_autofree char *digest = NULL;

	if (file == NULL)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED, "%s: is not in the manifest",
				 what);
	if (size != file->size)
		return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
				 "%s: has %" G_GUINT64_FORMAT
				 " bytes instead of %" G_GUINT64_FORMAT,
				 what, size, file->size);
	if (listing->digests && file->sha256 != NULL) {
		if (!digest_of(listing, dir_fd, name, st, what, &digest, error))
			return false;
		if (g_ascii_strcasecmp(digest, file->sha256) != 0)
			return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
					 "%s: the content is not the one that was recorded", what);
	}
	g_hash_table_remove(listing->listed, what);
	return true;
}

/* A hole costs its owner nothing, but its digest as much time as that of data. */
static bool
digest_pays(const struct stat *st)
{
	return (guint64)st->st_size <= (guint64)st->st_blocks * 512 + GBE_DIGEST_HOLES;
}

static bool
record_file(Listing *listing, int dir_fd, const char *name, const struct stat *st, const char *what,
	    GError **error)
{
	g_autofree char *digest = NULL;

	/* One entry more than the list may have is enough to know that there will be no list. */
	listing->path_bytes += strlen(what);
	if (listing->files > GBE_MANIFEST_FILES_MAX || listing->path_bytes > MAX_PATH_BYTES)
		return true;
	if (listing->digests && digest_pays(st) &&
	    !digest_of(listing, dir_fd, name, st, what, &digest, error))
		return false;
	gbe_manifest_add_file(listing->recorded, what, (guint64)st->st_size, digest);
	return true;
}

static bool
listing_visit(const char *path, int dir_fd, const char *name, const struct stat *st, gpointer data,
	      GError **error)
{
	Listing *listing = data;
	g_autofree char *what = NULL;
	guint64 size = (guint64)st->st_size;
	bool ok = true;

	if (!S_ISREG(st->st_mode))
		return true;
	listing->files++;
	if (gbe_inode_set_add(listing->links, st))
		listing->bytes += size;
	what = gbe_path_to_text(path);
	if (listing->listed != NULL)
		ok = check_file(listing, dir_fd, name, st, what, error);
	else if (listing->recorded != NULL)
		ok = record_file(listing, dir_fd, name, st, what, error);
	listing->file.done += size;
	return ok;
}

static bool
walk_listing(Listing *listing, int data_dir, const char *const *exclude,
	     const GbeTreeLimits *limits, GError **error)
{
	const GbeTreeLimits every = {.entries = GBE_TREE_MAX_ENTRIES};
	g_autoptr(GPtrArray) excluded = gbe_compare_excluded(exclude);

	listing->links = g_hash_table_new_full(gbe_inode_hash, gbe_inode_equal, g_free, NULL);
	listing->known = g_hash_table_new_full(gbe_inode_hash, gbe_inode_equal, g_free, g_free);
	return gbe_tree_walk_within(data_dir, (const char *const *)excluded->pdata,
				    limits != NULL ? limits : &every, listing_visit, listing,
				    error);
}

/* The first in the order of names, so that the message is always the same. */
static bool
throw_missing(GHashTable *listed, GError **error)
{
	GHashTableIter iter;
	gpointer key;
	const char *first = NULL;

	g_hash_table_iter_init(&iter, listed);
	while (g_hash_table_iter_next(&iter, &key, NULL))
		if (first == NULL || g_strcmp0(key, first) < 0)
			first = key;
	return gbe_throw(error, GBE_ERROR_VERIFY_FAILED,
			 "%s: is in the manifest and not in the backup", first);
}

bool
gbe_compare_manifest(int data_dir, const GbeManifest *manifest, bool digests,
		     bool (*progress)(guint64 bytes, gpointer data), gpointer progress_data,
		     GError **error)
{
	g_auto(Listing) listing = {
	    .file = {.progress = progress, .progress_data = progress_data},
	    .digests = digests,
	};

	if (!gbe_compare_is_listed(manifest))
		return true;
	if (manifest->files != NULL) {
		listing.listed = g_hash_table_new(g_str_hash, g_str_equal);
		for (guint i = 0; i < manifest->files->len; i++) {
			GbeManifestFile *file = g_ptr_array_index(manifest->files, i);

			g_hash_table_insert(listing.listed, file->path, file);
		}
	}
	if (!walk_listing(&listing, data_dir, NULL, NULL, error))
		return false;
	if (listing.listed != NULL && g_hash_table_size(listing.listed) > 0)
		return throw_missing(listing.listed, error);
	if (listing.files != manifest->files_count || listing.bytes != manifest->size)
		return gbe_throw(
		    error, GBE_ERROR_VERIFY_FAILED,
		    "the backup has %" G_GUINT64_FORMAT " files with %" G_GUINT64_FORMAT
		    " bytes, its manifest says %" G_GUINT64_FORMAT " with %" G_GUINT64_FORMAT,
		    listing.files, listing.bytes, manifest->files_count, manifest->size);
	return true;
}

bool
gbe_compare_record_within(int data_dir, const char *const *exclude, bool digests,
			  const GbeTreeLimits *limits, GbeManifest *manifest, GError **error)
{
	g_auto(Listing) listing = {.digests = digests, .recorded = gbe_manifest_new()};
	g_autoptr(GError) local = NULL;
	bool listed = walk_listing(&listing, data_dir, exclude, limits, &local);

	if (!listed && !gbe_pass_unless(error, &local, GBE_ERROR_UNSAFE_SOURCE))
		return false;
	g_clear_pointer(&manifest->files, g_ptr_array_unref);
	if (listed && listing.files == 0)
		manifest->files = g_ptr_array_new();
	else if (listed && listing.files <= GBE_MANIFEST_FILES_MAX &&
		 listing.path_bytes <= MAX_PATH_BYTES)
		manifest->files = g_steal_pointer(&listing.recorded->files);
	manifest->files_count = listed ? listing.files : 0;
	manifest->size = listed ? listing.bytes : 0;
	return true;
}

bool
gbe_compare_record(int data_dir, const char *const *exclude, bool digests, GbeManifest *manifest,
		   GError **error)
{
	return gbe_compare_record_within(data_dir, exclude, digests, NULL, manifest, error);
}
