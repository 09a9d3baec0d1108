/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/snapfile.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "etcd/protobuf.h"

#define WINDOW ((gsize)256 * 1024)
/* Of the message: a tag and ten bytes each for the checksum and the length. */
#define HEAD 22
#define METADATA_MAX ((guint64)64 * 1024)

static bool
read_hex(const char *text, guint64 *ret_value)
{
	guint64 value = 0;

	for (guint i = 0; i < 16; i++) {
		if (!g_ascii_isxdigit(text[i]) || g_ascii_isupper(text[i]))
			return false;
		value = value << 4 | (guint64)g_ascii_xdigit_value(text[i]);
	}
	*ret_value = value;
	return true;
}

bool
gbe_snapfile_is_name(const char *name, GbeRaftPoint *ret_point)
{
	GbeRaftPoint point;

	if (!read_hex(name, &point.term) || name[16] != '-' || !read_hex(name + 17, &point.index) ||
	    strcmp(name + 33, ".snap") != 0)
		return false;
	*ret_point = point;
	return true;
}

bool
gbe_snapfile_is_db_name(const char *name, guint64 *ret_index)
{
	guint64 index;

	if (!read_hex(name, &index) || strcmp(name + 16, ".snap.db") != 0)
		return false;
	*ret_index = index;
	return true;
}

void
gbe_snapfile_free(GbeSnapfile *snapfile)
{
	if (snapfile == NULL)
		return;
	g_free(snapfile->name);
	g_free(snapfile->fault);
	g_free(snapfile->unread);
	gbe_conf_state_clear(&snapfile->conf);
	g_free(snapfile);
}

typedef struct {
	GbeWindow window;
	guint64 size;
	guint64 at; /* of the next field */
	GbeSnapfile *snapfile;
} Reader;

/* Reads the tag and number (or length) at ->at and moves ->at after them. *ret_is false: there is no such field. */
static bool
take_field(Reader *reader, guint number, GbeWireType type, bool *ret_is, guint64 *ret_value,
	   GError **error)
{
	const guint8 *bytes = NULL;
	const guint8 *next;
	guint64 tag = 0;
	gsize got = 0;

	if (!gbe_window_at(&reader->window, reader->at, HEAD, &bytes, &got, error))
		return false;
	next = bytes;
	*ret_is = gbe_protobuf_varint(&next, bytes + got, &tag) &&
		  tag == ((guint64)number << 3 | type) &&
		  gbe_protobuf_varint(&next, bytes + got, ret_value);
	if (*ret_is)
		reader->at += (guint64)(next - bytes);
	return true;
}

/* Reads what the checksum covers: the store, which may be of any size, and the metadata after it: the configuration, the
 * index and the term. */
static bool
read_snapshot(Reader *reader, bool *ret_is, GError **error)
{
	const guint8 *bytes = NULL;
	GbeProtobuf conf = {0}, pb;
	guint64 numbers[2] = {0};
	guint64 size = 0;
	gsize got = 0;

	if (!take_field(reader, 1, GBE_WIRE_BYTES, ret_is, &size, error))
		return false;
	if (*ret_is && size > reader->size - reader->at) {
		*ret_is = false;
		return true;
	}
	reader->at += size;
	if (!take_field(reader, 2, GBE_WIRE_BYTES, ret_is, &size, error))
		return false;
	*ret_is = *ret_is && size <= METADATA_MAX && size == reader->size - reader->at;
	if (!*ret_is)
		return true;
	if (!gbe_window_at(&reader->window, reader->at, (gsize)size, &bytes, &got, error))
		return false;
	*ret_is = false;
	if (got != size)
		return true;
	pb = gbe_protobuf_begin(bytes, got);
	while (gbe_protobuf_next(&pb)) {
		if (gbe_protobuf_is(&pb, 1, GBE_WIRE_BYTES)) {
			conf = pb;
		} else if (pb.number == 2 || pb.number == 3) {
			if (pb.type != GBE_WIRE_VARINT)
				return true;
			numbers[pb.number - 2] = pb.value;
		}
	}
	if (pb.bad || !gbe_conf_state_read(conf.data, conf.size, &reader->snapfile->conf))
		return true;
	reader->snapfile->point = (GbeRaftPoint){.index = numbers[0], .term = numbers[1]};
	*ret_is = true;
	return true;
}

/* Sets ->fault where etcd would refuse the file. */
static bool
read_all(Reader *reader, GError **error)
{
	GbeSnapfile *snapfile = reader->snapfile;
	guint64 recorded = 0;
	guint64 size = 0;
	guint32 crc = 0;
	bool is = false;

	if (reader->size == 0) {
		snapfile->fault = g_strdup("it is empty");
		return true;
	}
	if (!take_field(reader, 1, GBE_WIRE_VARINT, &is, &recorded, error))
		return false;
	if (is && !take_field(reader, 2, GBE_WIRE_BYTES, &is, &size, error))
		return false;
	if (!is || recorded == 0 || size == 0) {
		snapfile->fault = g_strdup("it does not begin as a snapshot does");
		return true;
	}
	if (size != reader->size - reader->at) {
		snapfile->fault =
		    g_strdup_printf("%" G_GUINT64_FORMAT
				    " bytes should follow its head, but %" G_GUINT64_FORMAT " do",
				    size, reader->size - reader->at);
		return true;
	}
	if (!gbe_window_crc32c(&reader->window, reader->at, reader->size, &crc, error))
		return false;
	if (crc != (guint32)recorded) {
		snapfile->fault = g_strdup("its checksum is wrong");
		return true;
	}
	if (!read_snapshot(reader, &is, error))
		return false;
	snapfile->unknown = !is;
	return true;
}

bool
gbe_snapfile_read(int fd, const char *name, GbeLook *look, GbeSnapfile **ret_snapfile,
		  GError **error)
{
	g_autoptr(GbeSnapfile) snapfile = g_new0(GbeSnapfile, 1);
	g_autoptr(GError) local = NULL;
	Reader reader = {.snapfile = snapfile};
	struct stat st;
	bool done;

	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", name);
	snapfile->name = g_strdup(name);
	(void)gbe_snapfile_is_name(name, &snapfile->named);
	if (!S_ISREG(st.st_mode)) {
		snapfile->fault = g_strdup("it is not a regular file");
	} else {
		snapfile->size = (guint64)st.st_size;
		reader.size = snapfile->size;
		reader.window = gbe_window_begin(fd, name, WINDOW, look);
		done = read_all(&reader, &local);
		gbe_window_clear(&reader.window);
		if (!done && !gbe_pass_unless(error, &local, GBE_ERROR_CANNOT_TELL))
			return false;
		if (!done) {
			snapfile->unread = g_strdup(local->message);
			snapfile->point = snapfile->named;
		}
	}
	*ret_snapfile = g_steal_pointer(&snapfile);
	return true;
}
