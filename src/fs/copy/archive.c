/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dlopen.h"

#define SONAME "libarchive.so.13"
#define FUNCTIONS(X)                                                                               \
	X(archive_entry_filetype)                                                                  \
	X(archive_entry_free)                                                                      \
	X(archive_entry_hardlink)                                                                  \
	X(archive_entry_new)                                                                       \
	X(archive_entry_pathname)                                                                  \
	X(archive_entry_set_filetype)                                                              \
	X(archive_entry_set_mtime)                                                                 \
	X(archive_entry_set_pathname)                                                              \
	X(archive_entry_set_perm)                                                                  \
	X(archive_entry_set_size)                                                                  \
	X(archive_entry_size)                                                                      \
	X(archive_entry_size_is_set)                                                               \
	X(archive_errno)                                                                           \
	X(archive_error_string)                                                                    \
	X(archive_filter_bytes)                                                                    \
	X(archive_format)                                                                          \
	X(archive_read_data)                                                                       \
	X(archive_read_free)                                                                       \
	X(archive_read_new)                                                                        \
	X(archive_read_next_header)                                                                \
	X(archive_read_open_fd)                                                                    \
	X(archive_read_support_filter_gzip)                                                        \
	X(archive_read_support_format_empty)                                                       \
	X(archive_read_support_format_raw)                                                         \
	X(archive_read_support_format_tar)                                                         \
	X(archive_read_support_format_zip_streamable)                                              \
	X(archive_write_add_filter_gzip)                                                           \
	X(archive_write_close)                                                                     \
	X(archive_write_data)                                                                      \
	X(archive_write_free)                                                                      \
	X(archive_write_header)                                                                    \
	X(archive_write_new)                                                                       \
	X(archive_write_open)                                                                      \
	X(archive_write_set_bytes_in_last_block)                                                   \
	X(archive_write_set_bytes_per_block)                                                       \
	X(archive_write_set_filter_option)                                                         \
	X(archive_write_set_format_raw)                                                            \
	X(archive_write_set_format_ustar)
GBE_DLOPEN_FUNCTIONS(FUNCTIONS);

#define PIECE ((gsize)64 * 1024)
#define TAR_BLOCK 512

/* gzip packs zeros a thousandfold at best, and etcd's database some tenfold. A larger ratio is a bomb once the
 * output is large enough to matter. */
#define RATIO_MOST 200
#define RATIO_FROM ((gint64)64 * 1024 * 1024)

static bool
load_library(GError **error)
{
	return gbe_dlopen(SONAME, lib_symbols, G_N_ELEMENTS(lib_symbols), error);
}

/* ---- reading an archive ---- */

typedef struct {
	struct archive *archive;
	const char *what;
	GbeArchivePut put;
	gpointer data;
	guint8 *piece;
	gint64 passed; /* bytes */
} Source;

static bool
throw_damaged(const Source *source, GError **error)
{
	const char *why = lib.archive_error_string(source->archive);

	if (lib.archive_errno(source->archive) == EIO)
		return gbe_throw_errno(error, EIO, "cannot read %s", source->what);
	return gbe_throw(error, GBE_ERROR_CORRUPT, "%s is cut off or damaged: %s", source->what,
			 why != NULL ? why : "for no reason that is known");
}

static bool
refuse_archive(const Source *source, const char *why, GError **error)
{
	return gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s: %s; an archive with one snapshot file and nothing else is taken",
			 source->what, why);
}

bool
gbe_archive_name_is_safe(const char *name)
{
	g_auto(GStrv) parts = g_strsplit(name, "/", -1);

	return *name != '\0' && *name != '/' && !g_strv_contains((const char *const *)parts, "..");
}

static bool
check_entry(const Source *source, struct archive_entry *entry, guint files, GError **error)
{
	const char *name = lib.archive_entry_pathname(entry);
	mode_t type = lib.archive_entry_filetype(entry);

	if (lib.archive_entry_hardlink(entry) != NULL || (type != AE_IFREG && type != AE_IFDIR))
		return refuse_archive(source, "a link, a device or a socket is in it", error);
	/* libarchive gives no name that this locale cannot encode. */
	if (name != NULL && !gbe_archive_name_is_safe(name))
		return refuse_archive(source, "a name in it leads elsewhere", error);
	/* libarchive would unpack the content of a zip's directory to get past it. */
	if (type == AE_IFDIR &&
	    (!lib.archive_entry_size_is_set(entry) || lib.archive_entry_size(entry) != 0))
		return refuse_archive(source, "a directory with content is in it", error);
	return type == AE_IFDIR || files == 0 ||
	       refuse_archive(source, "several files are in it", error);
}

/* Compares the bytes read from the file with the larger of the filter's output and the archive's. */
static bool
check_ratio(const Source *source, GError **error)
{
	gint64 taken = lib.archive_filter_bytes(source->archive, -1);
	gint64 made = MAX(lib.archive_filter_bytes(source->archive, 0), source->passed);

	return made <= RATIO_FROM || made / RATIO_MOST <= taken ||
	       gbe_throw(error, GBE_ERROR_REFUSED,
			 "%s: it unpacks to more than %d times its size, unlike a snapshot file; "
			 "if it is a snapshot, unpack it by hand",
			 source->what, RATIO_MOST);
}

static bool
pass_file(Source *source, GError **error)
{
	for (;;) {
		la_ssize_t got = lib.archive_read_data(source->archive, source->piece, PIECE);

		if (got < 0)
			return throw_damaged(source, error);
		if (got == 0)
			return true;
		source->passed += got;
		if (!check_ratio(source, error) ||
		    !source->put(source->piece, (gsize)got, source->data, error))
			return false;
	}
}

static bool
unpack_entries(Source *source, GError **error)
{
	guint files = 0;

	for (;;) {
		struct archive_entry *entry = NULL;
		int r = lib.archive_read_next_header(source->archive, &entry);

		if (r == ARCHIVE_EOF)
			break;
		if (r < ARCHIVE_WARN)
			return throw_damaged(source, error);
		if (!check_ratio(source, error))
			return false;
		/* libarchive shows a file that is no archive as an archive of one file without a name. */
		if (lib.archive_format(source->archive) == ARCHIVE_FORMAT_RAW)
			return pass_file(source, error);
		if (!check_entry(source, entry, files, error))
			return false;
		if (lib.archive_entry_filetype(entry) != AE_IFREG)
			continue;
		files++;
		if (!pass_file(source, error))
			return false;
	}
	return files == 1 || lib.archive_format(source->archive) == ARCHIVE_FORMAT_EMPTY ||
	       refuse_archive(source, "no file is in it", error);
}

/* No filter that libarchive would run as another program is enabled. */
static bool
know_formats(struct archive *archive, bool archives)
{
	if (lib.archive_read_support_filter_gzip(archive) != ARCHIVE_OK)
		return false;
	if (archives && (lib.archive_read_support_format_tar(archive) != ARCHIVE_OK ||
			 lib.archive_read_support_format_zip_streamable(archive) != ARCHIVE_OK))
		return false;
	return lib.archive_read_support_format_raw(archive) == ARCHIVE_OK &&
	       lib.archive_read_support_format_empty(archive) == ARCHIVE_OK;
}

/* The first bytes of the file, or of what gzip has packed, in @piece. 0: it is a pipe, which cannot be looked at
 * twice, or unreadable. */
static gsize
read_first(int fd, guint8 *piece)
{
	struct archive *archive = lib.archive_read_new();
	off_t start = lseek(fd, 0, SEEK_CUR);
	struct archive_entry *entry = NULL;
	la_ssize_t got = 0;

	if (archive != NULL && start >= 0) {
		int r = lib.archive_read_support_filter_gzip(archive);

		if (r == ARCHIVE_OK)
			r = lib.archive_read_support_format_raw(archive);
		if (r == ARCHIVE_OK)
			r = lib.archive_read_open_fd(archive, fd, PIECE);
		if (r == ARCHIVE_OK)
			r = lib.archive_read_next_header(archive, &entry);
		if (r == ARCHIVE_OK)
			got = lib.archive_read_data(archive, piece, TAR_BLOCK);
	}
	if (archive != NULL)
		(void)lib.archive_read_free(archive);
	return start >= 0 && lseek(fd, start, SEEK_SET) == start ? (gsize)MAX(got, 0) : 0;
}

/* Names a file of another kind, which would else be a damaged database. */
static bool
check_kind(const char *what, const guint8 *first, gsize size, GError **error)
{
	static const struct {
		const char *begin, *kind, *tool;
	} kinds[] = {
	    {"\x28\xb5\x2f\xfd", "compressed with zstd", "zstd -d"},
	    {"\xfd"
	     "7zXZ",
	     "compressed with xz", "xz -d"},
	    {"BZh", "compressed with bzip2", "bzip2 -d"},
	    {"\x04\x22\x4d\x18", "compressed with lz4", "lz4 -d"},
	    {"7z\xbc\xaf\x27\x1c", "an archive of 7-Zip", "7z x"},
	    {"age-encryption.org/", "encrypted with age", "age -d"},
	};
	static const char *const pages[] = {"<!doctype", "<html", "<?xml", "<!--"};
	const char *text = (const char *)first, *end = text + size;

	for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
		if (size >= strlen(kinds[i].begin) &&
		    memcmp(first, kinds[i].begin, strlen(kinds[i].begin)) == 0)
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "%s is %s; run `%s` on it, and use the result", what,
					 kinds[i].kind, kinds[i].tool);
	if (size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3;
	while (text < end && g_ascii_isspace(*text))
		text++;
	for (gsize i = 0; i < G_N_ELEMENTS(pages); i++)
		if ((gsize)(end - text) >= strlen(pages[i]) &&
		    g_ascii_strncasecmp(text, pages[i], strlen(pages[i])) == 0)
			return gbe_throw(error, GBE_ERROR_REFUSED,
					 "%s is a web page or XML, not a snapshot; repeat the "
					 "download, and check its address and login",
					 what);
	return true;
}

bool
gbe_archive_unpack(int fd, const char *what, GbeArchivePut put, gpointer data, GError **error)
{
	g_autofree guint8 *piece = g_malloc(PIECE);
	Source source = {.what = what, .put = put, .data = data, .piece = piece};
	bool database, archives, done = false;
	gsize first;

	if (!load_library(error))
		return false;
	first = read_first(fd, piece);
	if (!check_kind(what, piece, first, error))
		return false;
	/* libarchive recognizes a tar by a header's checksum, over signed or unsigned bytes. A database's first page
	 * has zeros there and may sum up to 0, and then looks like a tar of a file without a name. So a file that
	 * begins with a zero, and is not all zeros, is taken as a plain file. A pipe (of a bucket, of age) also gives a
	 * plain file. */
	database = first > 0 && piece[0] == 0 && memcmp(piece, piece + 1, first - 1) != 0;
	archives = lseek(fd, 0, SEEK_CUR) >= 0 && !database;
	source.archive = lib.archive_read_new();
	if (source.archive == NULL || !know_formats(source.archive, archives))
		(void)gbe_throw(error, GBE_ERROR_UNSUPPORTED,
				"%s: this libarchive knows no gzip, tar or zip", what);
	else if (lib.archive_read_open_fd(source.archive, fd, PIECE) != ARCHIVE_OK)
		(void)throw_damaged(&source, error);
	else
		done = unpack_entries(&source, error);
	if (source.archive != NULL)
		(void)lib.archive_read_free(source.archive);
	return done;
}

/* ---- making an archive ---- */

static la_ssize_t
append_bytes(struct archive *archive G_GNUC_UNUSED, void *data, const void *bytes, size_t size)
{
	g_byte_array_append(data, bytes, (guint)size);
	return (la_ssize_t)size;
}

/* Begins to write with gzip: one file without a name, or an archive with several. */
static bool
open_writer(struct archive *archive, bool one_file, const char *level, archive_write_callback *put,
	    gpointer data)
{
	int r = one_file ? lib.archive_write_set_format_raw(archive)
			 : lib.archive_write_set_format_ustar(archive);

	if (r == ARCHIVE_OK)
		r = lib.archive_write_add_filter_gzip(archive);
	if (r == ARCHIVE_OK)
		r = lib.archive_write_set_filter_option(archive, "gzip", "compression-level",
							level);
	if (r == ARCHIVE_OK)
		r = one_file ? lib.archive_write_set_bytes_per_block(archive, 0)
			     : lib.archive_write_set_bytes_in_last_block(archive, 1);
	if (r == ARCHIVE_OK)
		r = lib.archive_write_open(archive, data, NULL, put, NULL);
	return r == ARCHIVE_OK;
}

bool
gbe_archive_pack(const GbeArchiveMember *members, gsize n_members, GBytes **ret_archive,
		 GError **error)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	gint64 now = MAX(g_get_real_time() / G_USEC_PER_SEC, 0);
	struct archive *archive;
	bool ok;

	if (!load_library(error))
		return false;
	archive = lib.archive_write_new();
	ok = open_writer(archive, false, "9", append_bytes, bytes);
	for (gsize i = 0; ok && i < n_members; i++) {
		struct archive_entry *entry = lib.archive_entry_new();

		lib.archive_entry_set_pathname(entry, members[i].name);
		lib.archive_entry_set_filetype(entry, AE_IFREG);
		lib.archive_entry_set_perm(entry, 0600);
		lib.archive_entry_set_mtime(entry, (time_t)now, 0);
		lib.archive_entry_set_size(entry, (la_int64_t)members[i].size);
		ok = lib.archive_write_header(archive, entry) == ARCHIVE_OK &&
		     lib.archive_write_data(archive, members[i].bytes, members[i].size) ==
			 (la_ssize_t)members[i].size;
		lib.archive_entry_free(entry);
	}
	ok = (ok && lib.archive_write_close(archive) == ARCHIVE_OK) ||
	     gbe_throw(error, GBE_ERROR_FAILED, "cannot make an archive: %s",
		       lib.archive_error_string(archive));
	(void)lib.archive_write_free(archive);
	if (ok)
		*ret_archive = g_byte_array_free_to_bytes(g_steal_pointer(&bytes));
	return ok;
}

/* ---- one file, compressed ---- */

/* With the keys and values of a Kubernetes, this level takes a third of the time of gzip's default. The file is a
 * fourteenth larger. One level more takes twice as long. */
#define LEVEL "3"
#define STORED "0"
/* Pieces that tell whether a file is worth compressing. */
#define SAMPLES 16

typedef struct {
	GbeArchivePut put;
	gpointer data;
	GError **error;
	bool failed; /* @error says why */
} Gzip;

static la_ssize_t
put_piece(struct archive *archive G_GNUC_UNUSED, void *data, const void *bytes, size_t size)
{
	Gzip *gzip = data;

	/* The rest of a buffer also comes when the archive is freed. */
	if (gzip->failed || !gzip->put(bytes, size, gzip->data, gzip->error)) {
		gzip->failed = true;
		return -1;
	}
	return (la_ssize_t)size;
}

static bool
open_gzip(struct archive *archive, Gzip *gzip, const char *level)
{
	struct archive_entry *entry = lib.archive_entry_new();
	bool ok = open_writer(archive, true, level, put_piece, gzip);

	lib.archive_entry_set_filetype(entry, AE_IFREG);
	ok = ok && lib.archive_write_header(archive, entry) == ARCHIVE_OK;
	lib.archive_entry_free(entry);
	return ok;
}

static bool
count_packed(const void *bytes G_GNUC_UNUSED, gsize size, gpointer data,
	     GError **error G_GNUC_UNUSED)
{
	*(guint64 *)data += size;
	return true;
}

/* Random values take deflate four times as long as others, and all of their shrinkage is the unused ends of the
 * database's pages. If a sample keeps more than three quarters of its size, the file is stored. */
static const char *
choose_level(int fd)
{
	g_autofree guint8 *piece = g_malloc(PIECE);
	off_t start = lseek(fd, 0, SEEK_CUR);
	struct archive *archive;
	guint64 packed = 0, taken = 0;
	Gzip gzip = {.put = count_packed, .data = &packed};
	struct stat st;
	bool ok;

	if (start < 0 || fstat(fd, &st) < 0 || st.st_size - start < SAMPLES * (off_t)PIECE)
		return LEVEL;
	archive = lib.archive_write_new();
	ok = open_gzip(archive, &gzip, LEVEL);
	for (gint i = 0; ok && i < SAMPLES; i++) {
		ssize_t got = pread(fd, piece, PIECE, start + (st.st_size - start) / SAMPLES * i);

		ok = got > 0 && lib.archive_write_data(archive, piece, (gsize)got) == got;
		taken += (guint64)MAX(got, 0);
	}
	ok = ok && lib.archive_write_close(archive) == ARCHIVE_OK;
	(void)lib.archive_write_free(archive);
	return ok && packed > taken / 4 * 3 ? STORED : LEVEL;
}

bool
gbe_archive_gzip(int fd, const char *what, GbeArchivePut put, gpointer data, GError **error)
{
	g_autofree guint8 *piece = g_malloc(PIECE);
	Gzip gzip = {.put = put, .data = data, .error = error};
	struct archive *archive;
	ssize_t got = 1;
	bool ok;

	if (!load_library(error))
		return false;
	archive = lib.archive_write_new();
	ok = open_gzip(archive, &gzip, choose_level(fd));
	while (ok && got != 0) {
		got = read(fd, piece, PIECE);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			gzip.failed = true;
			ok = gbe_throw_errno(error, errno, "cannot read %s", what);
		} else if (got == 0) {
			ok = lib.archive_write_close(archive) == ARCHIVE_OK;
		} else {
			ok = lib.archive_write_data(archive, piece, (gsize)got) == got;
		}
	}
	if (!ok && !gzip.failed) {
		(void)gbe_throw(error, GBE_ERROR_FAILED, "cannot compress %s: %s", what,
				lib.archive_error_string(archive));
		gzip.failed = true;
	}
	(void)lib.archive_write_free(archive);
	return ok;
}
