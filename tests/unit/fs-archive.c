/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fs/copy/archive.h"
#include "unit/fs-place.h"

#include <archive.h>
#include <archive_entry.h>

START_TEST(names)
{
	ck_assert(gbe_archive_name_is_safe("file"));
	ck_assert(gbe_archive_name_is_safe("./dir/file"));
	ck_assert(gbe_archive_name_is_safe("dir/"));
	ck_assert(gbe_archive_name_is_safe("..file"));
	ck_assert(!gbe_archive_name_is_safe(""));
	ck_assert(!gbe_archive_name_is_safe("/file"));
	ck_assert(!gbe_archive_name_is_safe("../file"));
	ck_assert(!gbe_archive_name_is_safe("dir/../../file"));
	ck_assert(!gbe_archive_name_is_safe("dir/.."));
}
END_TEST

typedef struct {
	const char *name;
	mode_t type;
	gsize size;
	const char *link; /* a hard link */
} Member;

static guint8
byte_at(gsize at)
{
	return (guint8)('a' + at % 23);
}

static void
add(struct archive *archive, const Member *member)
{
	struct archive_entry *entry = archive_entry_new();

	archive_entry_set_pathname(entry, member->name);
	archive_entry_set_filetype(entry, member->type);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, (la_int64_t)member->size);
	if (member->type == AE_IFLNK)
		archive_entry_set_symlink(entry, "file");
	if (member->link != NULL)
		archive_entry_set_hardlink(entry, member->link);
	ck_assert_int_eq(archive_write_header(archive, entry), ARCHIVE_OK);
	for (gsize at = 0; at < member->size; at++) {
		guint8 byte = byte_at(at);

		ck_assert_int_eq(archive_write_data(archive, &byte, 1), 1);
	}
	archive_entry_free(entry);
}

static void
make(const char *name, const char *format, guint gzips, const Member *members, gsize n)
{
	struct archive *archive = archive_write_new();
	gbe_autofd int fd = openat(place, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(archive_write_set_format_by_name(archive, format), ARCHIVE_OK);
	for (guint i = 0; i < gzips; i++)
		ck_assert_int_eq(archive_write_add_filter_gzip(archive), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_open_fd(archive, fd), ARCHIVE_OK);
	for (gsize i = 0; i < n; i++)
		add(archive, &members[i]);
	ck_assert_int_eq(archive_write_close(archive), ARCHIVE_OK);
	archive_write_free(archive);
}

static bool
take(const void *bytes, gsize size, gpointer data, GError **error)
{
	(void)g_byte_array_append(data, bytes, (guint)size);
	return true;
}

static bool
unpack(const char *name, GByteArray *to, GError **error)
{
	gbe_autofd int fd = openat(place, name, O_RDONLY | O_CLOEXEC);

	ck_assert_int_ge(fd, 0);
	return gbe_archive_unpack(fd, name, take, to, error);
}

static void
assert_content(const GByteArray *got, gsize size)
{
	ck_assert_uint_eq(got->len, size);
	for (gsize at = 0; at < size; at++)
		ck_assert_uint_eq(got->data[at], byte_at(at));
}

/* A file that is no archive and not packed is unpacked as itself, at any size. */
START_TEST(plain)
{
	static const gsize sizes[] = {0, 1, 511, 512, 513, 65536, 200001};

	for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autofree char *bytes = g_malloc(sizes[i] + 1);
		g_autoptr(GByteArray) got = g_byte_array_new();
		g_autoptr(GError) error = NULL;

		for (gsize at = 0; at < sizes[i]; at++)
			bytes[at] = (char)byte_at(at);
		bytes[sizes[i]] = '\0';
		put("plain", bytes);
		assert_ok(unpack("plain", got, &error), error);
		assert_content(got, sizes[i]);
	}
}
END_TEST

static void
put_packed(const char *name, const void *bytes, gsize size, bool gzip)
{
	struct archive *archive = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	gbe_autofd int fd = openat(place, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(archive_write_set_format_raw(archive), ARCHIVE_OK);
	if (gzip)
		ck_assert_int_eq(archive_write_add_filter_gzip(archive), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_open_fd(archive, fd), ARCHIVE_OK);
	archive_entry_set_filetype(entry, AE_IFREG);
	ck_assert_int_eq(archive_write_header(archive, entry), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_data(archive, bytes, size), (la_ssize_t)size);
	archive_entry_free(entry);
	ck_assert_int_eq(archive_write_close(archive), ARCHIVE_OK);
	archive_write_free(archive);
}

/* A database whose first page sums up to the checksum of a tar without a name. The same when compressed. */
START_TEST(a_database_is_no_tar)
{
	for (guint gzip = 0; gzip < 2; gzip++) {
		guint8 page[4096] = {0};
		g_autoptr(GByteArray) got = g_byte_array_new();
		g_autoptr(GError) error = NULL;

		/* Signed bytes, and eight blanks in place of the sum, add up to 0. */
		memset(page + 16, 0xc0, 4);
		put_packed("db", page, sizeof(page), gzip > 0);
		assert_ok(unpack("db", got, &error), error);
		ck_assert_uint_eq(got->len, sizeof(page));
		ck_assert_mem_eq(got->data, page, sizeof(page));
	}
}
END_TEST

static const char *const formats[] = {"ustar", "pax", "gnutar", "zip"};

START_TEST(archives)
{
	static const Member members[] = {{"dir/", AE_IFDIR, 0, NULL},
					 {"dir/file", AE_IFREG, 70001, NULL},
					 {"dir/sub/", AE_IFDIR, 0, NULL}};

	for (gsize i = 0; i < G_N_ELEMENTS(formats); i++)
		for (guint gzip = 0; gzip < 2; gzip++) {
			g_autoptr(GByteArray) got = g_byte_array_new();
			g_autoptr(GError) error = NULL;

			make("archive", formats[i], gzip, members, G_N_ELEMENTS(members));
			assert_ok(unpack("archive", got, &error), error);
			assert_content(got, members[1].size);
		}
}
END_TEST

START_TEST(refused)
{
	static const struct {
		Member members[2];
		gsize n;
		const char *why;
	} cases[] = {
	    {{{"one", AE_IFREG, 9, NULL}, {"two", AE_IFREG, 9, NULL}}, 2, "several files"},
	    {{{"file", AE_IFREG, 9, NULL}, {"link", AE_IFLNK, 0, NULL}}, 2, "a link"},
	    {{{"file", AE_IFREG, 9, NULL}, {"link", AE_IFREG, 0, "file"}}, 2, "a link"},
	    {{{"fifo", AE_IFIFO, 0, NULL}}, 1, "a device"},
	    {{{"device", AE_IFBLK, 0, NULL}}, 1, "a device"},
	    {{{"../up", AE_IFREG, 9, NULL}}, 1, "leads elsewhere"},
	    {{{"../up/", AE_IFDIR, 0, NULL}, {"file", AE_IFREG, 9, NULL}}, 2, "leads elsewhere"},
	    {{{"/top", AE_IFREG, 9, NULL}}, 1, "leads elsewhere"},
	    {{{"dir/", AE_IFDIR, 0, NULL}}, 1, "no file"},
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GByteArray) got = g_byte_array_new();
		g_autoptr(GError) error = NULL;

		make("archive", "gnutar", true, cases[i].members, cases[i].n);
		ck_assert(!unpack("archive", got, &error));
		ck_assert_msg(g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED) &&
				  strstr(error->message, cases[i].why) != NULL,
			      "case %zu: %s", i, error->message);
	}
}
END_TEST

/* A file that is cut off never passes for a whole one. (gzip that is shorter than its header is not recognized, and
 * is unpacked as itself.) */
START_TEST(cut_off)
{
	static const Member file = {"file", AE_IFREG, 30000, NULL};

	for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
		struct stat st;
		gbe_autofd int fd = -1;

		make("archive", formats[i], true, &file, 1);
		fd = openat(place, "archive", O_RDWR | O_CLOEXEC);
		ck_assert_int_eq(fstat(fd, &st), 0);
		for (off_t end = st.st_size - 1; end >= 18; end -= 97) {
			g_autoptr(GByteArray) got = g_byte_array_new();
			g_autoptr(GError) error = NULL;

			ck_assert_int_eq(ftruncate(fd, end), 0);
			ck_assert_msg(!unpack("archive", got, &error), "%s, %ld bytes", formats[i],
				      (long)end);
			ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_CORRUPT));
		}
	}
}
END_TEST

static bool
take_none(const void *bytes, gsize size, gpointer data, GError **error)
{
	return gbe_throw(error, GBE_ERROR_NO_SPACE, "no more");
}

START_TEST(what_put_says_ends_it)
{
	static const Member file = {"file", AE_IFREG, 30000, NULL};
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = -1;

	make("archive", "ustar", true, &file, 1);
	fd = openat(place, "archive", O_RDONLY | O_CLOEXEC);
	ck_assert(!gbe_archive_unpack(fd, "archive", take_none, NULL, &error));
	ck_assert(g_error_matches(error, GBE_ERROR, GBE_ERROR_NO_SPACE));
	ck_assert_str_eq(error->message, "no more");
}
END_TEST

#define BOMB ((gint64)256 * MIB)

static bool
count(const void *bytes, gsize size, gpointer data, GError **error)
{
	*(guint64 *)data += size;
	return true;
}

/* One file of @size bytes. */
static void
make_bomb(const char *format, guint gzips, gint64 size)
{
	struct archive *archive = archive_write_new();
	struct archive_entry *entry = archive_entry_new();
	g_autofree char *same = g_strnfill(MIB, 'a');
	gbe_autofd int fd = openat(place, "bomb", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(archive_write_set_format_by_name(archive, format), ARCHIVE_OK);
	for (guint i = 0; i < gzips; i++)
		ck_assert_int_eq(archive_write_add_filter_gzip(archive), ARCHIVE_OK);
	ck_assert_int_eq(archive_write_open_fd(archive, fd), ARCHIVE_OK);
	archive_entry_set_pathname(entry, "file");
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0644);
	archive_entry_set_size(entry, size);
	ck_assert_int_eq(archive_write_header(archive, entry), ARCHIVE_OK);
	for (gint64 at = 0; at < size; at += MIB)
		ck_assert_int_eq(archive_write_data(archive, same, MIB), MIB);
	archive_entry_free(entry);
	(void)archive_write_close(archive);
	archive_write_free(archive);
}

static void
assert_bomb(const char *words)
{
	gbe_autofd int fd = openat(place, "bomb", O_RDONLY | O_CLOEXEC);
	g_autoptr(GError) error = NULL;
	guint64 got = 0;

	ck_assert(!gbe_archive_unpack(fd, "bomb", count, &got, &error));
	ck_assert_msg(g_error_matches(error, GBE_ERROR, GBE_ERROR_REFUSED), "%s", error->message);
	ck_assert_msg(strstr(error->message, words) != NULL, "%s", error->message);
	ck_assert_uint_le(got, 100 * MIB);
}

START_TEST(bombs)
{
	gbe_autofd int fd = -1;
	g_autoptr(GError) error = NULL;
	guint64 got = 0;

	make_bomb("raw", 1, BOMB);
	assert_bomb("unpacks to more than");
	make_bomb("raw", 2, BOMB);
	assert_bomb("unpacks to more than");
	make_bomb("ustar", 1, BOMB);
	assert_bomb("unpacks to more than");
	make_bomb("zip", 0, BOMB);
	assert_bomb("unpacks to more than");
	/* A ratio does not matter while the output is small. */
	make_bomb("raw", 2, 60 * MIB);
	fd = openat(place, "bomb", O_RDONLY | O_CLOEXEC);
	ck_assert(gbe_archive_unpack(fd, "bomb", count, &got, &error));
	ck_assert_uint_eq(got, 60 * MIB);
}
END_TEST

/* Only names, without any output. */
START_TEST(bomb_of_names)
{
	static Member members[150000];

	for (gsize i = 0; i < G_N_ELEMENTS(members); i++)
		members[i] = (Member){"dir/", AE_IFDIR, 0, NULL};
	make("bomb", "ustar", 2, members, G_N_ELEMENTS(members));
	assert_bomb("unpacks to more than");
}
END_TEST

/* 30 bytes of header, the name, and a directory's "content". */
START_TEST(directory_with_content)
{
	static const char zip[] = "PK\3\4\24\0\0\0\0\0\0\0\41\0"
				  "\x43\xbe\xb7\xe8" /* the CRC-32 of "a" */
				  "\1\0\0\0\1\0\0\0\2\0\0\0d/a";
	static const char unknown[] = "PK\3\4\24\0\10\0\0\0\0\0\41\0"
				      "\0\0\0\0\0\0\0\0\0\0\0\0\2\0\0\0d/a";
	gbe_autofd int fd = openat(place, "bomb", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	ck_assert_int_eq(write(fd, zip, sizeof(zip) - 1), sizeof(zip) - 1);
	assert_bomb("a directory with content");
	/* The size follows the content, wherever that ends. */
	ck_assert_int_eq(pwrite(fd, unknown, sizeof(unknown) - 1, 0), sizeof(unknown) - 1);
	assert_bomb("a directory with content");
}
END_TEST

START_TEST(what_cannot_be_read)
{
	g_autoptr(GByteArray) got = g_byte_array_new();
	g_autoptr(GError) error = NULL;
	gbe_autofd int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert(!gbe_archive_unpack(fd, "directory", take, got, &error));
	ck_assert(error != NULL && got->len == 0);
}
END_TEST

static const gsize packed_sizes[] = {0, 1, 65535, 65536, 65537, 3000001};

static bool
gzip(gsize size, GbeArchivePut take_it, GByteArray *to, GError **error)
{
	g_autofree guint8 *bytes = g_malloc(size + 1);
	gbe_autofd int fd = -1;

	for (gsize at = 0; at < size; at++)
		bytes[at] = byte_at(at);
	put_bytes("plain", bytes, size);
	fd = openat(place, "plain", O_RDONLY | O_CLOEXEC);
	return gbe_archive_gzip(fd, "plain", take_it, to, error);
}

/* Our own reader and gzip's read it. Without one of its last bytes both readers fail. */
START_TEST(gzipped)
{
	gsize size = packed_sizes[_i];
	g_autoptr(GByteArray) packed = g_byte_array_new(), got = g_byte_array_new();
	g_autofree char *path = at("packed.gz");
	g_autoptr(GError) error = NULL;

	assert_ok(gzip(size, take, packed, &error), error);
	put_bytes("packed.gz", packed->data, packed->len);
	assert_ok(unpack("packed.gz", got, &error), error);
	assert_content(got, size);
	ck_assert_int_eq(place_run((const char *[]){"gzip", "-t", path, NULL}), 0);
	for (gsize lacks = 1; lacks <= 9; lacks++) {
		put_bytes("packed.gz", packed->data, packed->len - lacks);
		ck_assert(!unpack("packed.gz", got, &error));
		g_clear_error(&error);
		ck_assert_int_ne(place_run((const char *[]){"gzip", "-t", path, NULL}), 0);
	}
}
END_TEST

/* Pages of 4 KiB, of which so many bytes are random. A file of two MiB is stored where the sample saves too little. */
START_TEST(stored_or_compressed)
{
	static const struct {
		gsize noise;
		bool stored;
	} cases[] = {{16, false}, {2048, false}, {3300, true}, {4096, true}};
	gsize size = 2 * MIB;

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GByteArray) packed = g_byte_array_new(), got = g_byte_array_new();
		g_autofree guint8 *bytes = g_malloc0(size);
		g_autofree char *path = at("packed.gz");
		g_autoptr(GRand) rand = g_rand_new_with_seed(1);
		g_autoptr(GError) error = NULL;
		gbe_autofd int fd = -1;

		for (gsize at = 0; at < size; at++)
			if (at % 4096 < cases[i].noise)
				bytes[at] = (guint8)g_rand_int(rand);
		put_bytes("plain", bytes, size);
		fd = openat(place, "plain", O_RDONLY | O_CLOEXEC);
		assert_ok(gbe_archive_gzip(fd, "plain", take, packed, &error), error);
		ck_assert_msg((packed->len >= size) == cases[i].stored, "case %zu: %u", i,
			      packed->len);
		put_bytes("packed.gz", packed->data, packed->len);
		assert_ok(unpack("packed.gz", got, &error), error);
		ck_assert_uint_eq(got->len, size);
		ck_assert_mem_eq(got->data, bytes, size);
		ck_assert_int_eq(place_run((const char *[]){"gzip", "-t", path, NULL}), 0);
	}
}
END_TEST

START_TEST(gzip_says_what_put_says)
{
	for (gsize i = 0; i < G_N_ELEMENTS(packed_sizes); i++) {
		g_autoptr(GError) error = NULL;

		assert_fails(gzip(packed_sizes[i], take_none, NULL, &error), error,
			     GBE_ERROR_NO_SPACE, "no more");
	}
}
END_TEST

START_TEST(gzip_of_what_cannot_be_read)
{
	gbe_autofd int fd = openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	g_autoptr(GByteArray) got = g_byte_array_new();
	g_autoptr(GError) error = NULL;

	assert_fails(gbe_archive_gzip(fd, "directory", take, got, &error), error, GBE_ERROR_FAILED,
		     "cannot read directory");
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("fs-archive");
	TCase *tcase = place_case(suite, "archive");

	tcase_add_test(tcase, names);
	tcase_add_test(tcase, plain);
	tcase_add_test(tcase, a_database_is_no_tar);
	tcase_add_test(tcase, archives);
	tcase_add_test(tcase, refused);
	tcase_add_test(tcase, cut_off);
	tcase_add_test(tcase, what_put_says_ends_it);
	tcase_add_test(tcase, bombs);
	tcase_add_test(tcase, bomb_of_names);
	tcase_add_test(tcase, directory_with_content);
	tcase_add_test(tcase, what_cannot_be_read);
	tcase_add_loop_test(tcase, gzipped, 0, (int)G_N_ELEMENTS(packed_sizes));
	tcase_add_test(tcase, stored_or_compressed);
	tcase_add_test(tcase, gzip_says_what_put_says);
	tcase_add_test(tcase, gzip_of_what_cannot_be_read);
	return gbe_unit_main(suite);
}
