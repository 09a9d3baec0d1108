/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "etcd/wal/read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "etcd/layout.h"
#include "etcd/protobuf.h"
#include "fs/list.h"

/* A hundred years of elections do not reach this number. A wrong field that is read as a term, above all a member's
 * id, does. */
#define TERM_MAX ((guint64)1 << 40)
/* Records are small and many: this window holds many of them. */
#define LAST_WINDOW (128 * 1024)

static void
segment_free(GbeWalSegment *segment)
{
	g_free(segment->name);
	g_free(segment);
}

static gint
by_name(gconstpointer a, gconstpointer b)
{
	const GbeWalSegment *const *first = a;
	const GbeWalSegment *const *second = b;

	return strcmp((*first)->name, (*second)->name);
}

bool
gbe_wal_segments_list(int dir_fd, const char *path, GPtrArray **ret_segments, GbeFindings *findings,
		      GError **error)
{
	g_autoptr(GPtrArray) segments =
	    g_ptr_array_new_with_free_func((GDestroyNotify)segment_free);
	g_auto(GbeList) list = gbe_list_open_at(dir_fd, path);
	const char *name;

	while ((name = gbe_list_next(&list)) != NULL) {
		if (!gbe_layout_is_segment(name)) {
			g_autofree char *file = g_build_filename(path, name, NULL);

			gbe_findings_add(
			    findings, GBE_FINDING_NOTE, "member-leftover", file, GBE_PLACE_FILE, 0,
			    GBE_YES, GBE_NO,
			    g_str_has_suffix(name, ".tmp")
				? "a segment that was being prepared when etcd was ended"
				: "etcd does not know it, and passes it over");
		} else if (segments->len <= GBE_WAL_SEGMENTS_MAX) {
			GbeWalSegment *segment = g_new0(GbeWalSegment, 1);

			segment->name = g_strdup(name);
			segment->sequence = g_ascii_strtoull(name, NULL, 16);
			segment->index = g_ascii_strtoull(name + 17, NULL, 16);
			g_ptr_array_add(segments, segment);
		}
	}
	if (!gbe_list_end(&list, error))
		return false;
	if (segments->len > GBE_WAL_SEGMENTS_MAX) {
		g_ptr_array_set_size(segments, GBE_WAL_SEGMENTS_MAX);
		gbe_findings_add(findings, GBE_FINDING_UNKNOWN, "wal-too-many", path,
				 GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_UNKNOWN,
				 "more than %d segments", GBE_WAL_SEGMENTS_MAX);
	}
	g_ptr_array_sort(segments, by_name);
	*ret_segments = g_steal_pointer(&segments);
	return true;
}

void
gbe_wal_clear(GbeWal *wal)
{
	g_clear_pointer(&wal->segments, g_ptr_array_unref);
	g_clear_pointer(&wal->snapshots, g_array_unref);
	g_clear_pointer(&wal->changes, g_array_unref);
	gbe_conf_state_clear(&wal->conf);
}

/* The state of reading one log. */
typedef struct {
	GbeWal *wal;
	GbeFindings *findings;
	GbeLook *look;
	GbeWalVisitor visitor; /* NULL: none */
	gpointer data;
	GbeWalSegment *segment;
	GbeWalSegmentReader *reader;
	const char *file; /* the segment, for findings */
	guint number;	  /* of the segment, from 0 */
	guint32 running;
	GbeVersion version; /* of the etcd that is to read it */
	bool stop;	    /* nothing after this can be understood */
} Log;

/* etcd refuses to start on it, so that starting loses nothing. */
static void
report_damage(Log *log, const char *code, const char *what)
{
	gbe_findings_add(log->findings, GBE_FINDING_DAMAGE, code, log->file, GBE_PLACE_RECORD,
			 log->reader->offset, GBE_YES, GBE_NO, "%s", what);
	log->wal->complete = false;
}

/* Damage that etcd would take as it stands, with any effect. */
static void
report_disorder(Log *log, const char *what)
{
	gbe_findings_add(log->findings, GBE_FINDING_DAMAGE, "wal-order", log->file,
			 GBE_PLACE_RECORD, log->reader->offset, GBE_UNKNOWN, GBE_YES, "%s", what);
	log->wal->complete = false;
}

static void
take_metadata(Log *log)
{
	guint64 numbers[2] = {0};
	GbeWalMetadata metadata;

	if (!gbe_protobuf_numbers(log->reader->data, log->reader->have, numbers, 2, 0, NULL)) {
		report_damage(log, "wal-content", "whose log it is cannot be read");
		return;
	}
	metadata = (GbeWalMetadata){.member = numbers[0], .cluster = numbers[1]};
	if (log->wal->has_metadata &&
	    memcmp(&metadata, &log->wal->metadata, sizeof(metadata)) != 0) {
		report_damage(
		    log, "wal-other-member",
		    "it belongs to another member or cluster than the segments before it");
		return;
	}
	log->wal->has_metadata = true;
	log->wal->metadata = metadata;
}

static void
take_change(Log *log, const GbeWalEntry *entry)
{
	const GbeWalSegmentReader *reader = log->reader;
	GArray *changes = log->wal->changes;
	guint64 numbers[3] = {0}; /* ID, type, node */
	GbeConfChange change;

	if (entry->type != GBE_ENTRY_CONF_CHANGE || entry->size > reader->have - entry->head ||
	    changes->len >= GBE_WAL_CONF_CHANGES_MAX ||
	    !gbe_protobuf_numbers(reader->data + entry->head, (gsize)entry->size, numbers, 3, 0,
				  NULL)) {
		log->wal->changes_lost = true;
		return;
	}
	change = (GbeConfChange){.index = entry->index, .type = numbers[1], .node = numbers[2]};
	g_array_append_val(changes, change);
}

/* The state is that of one member over time. */
static void
take_state(Log *log)
{
	const GbeWalSegmentReader *reader = log->reader;
	const GbeHardState before = log->wal->state;
	GbeHardState state;

	log->wal->has_state = true;
	if (!gbe_wal_state_read(reader->data, reader->have, &state)) {
		report_damage(log, "wal-content", "the state cannot be read");
		return;
	}
	if (state.term < before.term || state.commit < before.commit)
		report_disorder(log, "the state is older than the one before it");
	log->wal->state = state;
}

/* 3.4, and 3.5 up to 3.5.4, write longer records than they read. */
static void
check_length(Log *log)
{
	static const GbeVersion all_read = {.major = 3, .minor = 6, .known = true};
	static const GbeVersion some_read = {.major = 3, .minor = 5, .known = true};
	const GbeWalFrame *frame = &log->reader->frame;

	if (frame->length + frame->padding < GBE_WAL_LENGTH_OLD ||
	    gbe_version_above(all_read, log->version) == GBE_NO)
		return;
	if (gbe_version_above(some_read, log->version) == GBE_YES)
		report_damage(
		    log, "wal-entry-size",
		    "the record is longer than 10 MiB, which etcd 3.4 writes, and does not read");
	else
		gbe_findings_add(
		    log->findings, GBE_FINDING_WARNING, "wal-entry-size", log->file,
		    GBE_PLACE_RECORD, log->reader->offset, GBE_UNKNOWN, GBE_NO,
		    "the record is longer than 10 MiB: etcd up to 3.5.4 does not start on it");
}

static void
take_entry(Log *log)
{
	GbeWal *wal = log->wal;
	GbeWalEntry entry;

	if (!gbe_wal_entry_read(log->reader->data, log->reader->have, log->reader->record.size,
				&entry)) {
		report_damage(log, "wal-content", "the entry cannot be read");
		return;
	}
	check_length(log);
	/* No checksum covers a record's type. A state that is read as an entry, or the reverse, breaks raft's rules.
	 * Terms never decrease from entry to entry, and committed entries are not replaced. */
	if (entry.term > TERM_MAX)
		report_disorder(log, "the entry's term cannot be right");
	else if (entry.index <= wal->state.commit)
		report_disorder(log, "the entry would replace one that had been agreed on");
	else if (entry.index == wal->last_entry + 1 && entry.term < wal->last_term)
		report_disorder(log, "the entry is of an older term than the one before it");
	if (entry.index > wal->last_entry + 1 && entry.index > wal->gap) {
		wal->gap = entry.index;
		wal->gap_at = log->reader->offset;
		wal->gap_segment = log->number;
	}
	if (log->segment->first_entry == 0)
		log->segment->first_entry = entry.index;
	/* An earlier index again: a new leader replaced uncommitted entries. */
	if (entry.index <= wal->last_entry)
		while (wal->changes->len > 0 &&
		       g_array_index(wal->changes, GbeConfChange, wal->changes->len - 1).index >=
			   entry.index)
			g_array_set_size(wal->changes, wal->changes->len - 1);
	wal->last_entry = entry.index;
	wal->last_term = entry.term;
	if (entry.type != GBE_ENTRY_NORMAL)
		take_change(log, &entry);
}

static void
take_snapshot(Log *log)
{
	GArray *snapshots = log->wal->snapshots;
	g_auto(GbeConfState) conf = {0};
	GbeRaftPoint point;
	GbeBytes bytes;

	if (!gbe_wal_snapshot_read(log->reader->data, log->reader->have, &point, &bytes)) {
		report_damage(log, "wal-content", "the snapshot's record cannot be read");
		return;
	}
	if (snapshots->len == GBE_WAL_SNAPSHOTS_MAX)
		g_array_remove_range(snapshots, 0, GBE_WAL_SNAPSHOTS_MAX / 2);
	g_array_append_val(snapshots, point);
	if (bytes.size == 0 || !gbe_conf_state_read(bytes.at, bytes.size, &conf))
		return;
	gbe_conf_state_clear(&log->wal->conf);
	log->wal->conf = conf;
	log->wal->conf_at = point;
	conf = (GbeConfState){0};
}

static void
take_record(Log *log)
{
	GbeWalSegmentReader *reader = log->reader;

	log->wal->records++;
	switch (reader->record.type) {
	case GBE_WAL_METADATA:
		take_metadata(log);
		break;
	case GBE_WAL_ENTRY:
		take_entry(log);
		break;
	case GBE_WAL_STATE:
		take_state(log);
		break;
	case GBE_WAL_CRC:
		/* The head of a segment has the checksum of the previous one. The oldest segment follows one that
		 * was deleted. */
		if (reader->running != 0 && reader->running != reader->record.crc)
			report_damage(log, "wal-chain",
				      "it does not continue the records before it: some are "
				      "missing at their end, or a segment in between");
		reader->running = reader->record.crc;
		break;
	case GBE_WAL_SNAPSHOT:
		take_snapshot(log);
		break;
	default:
		gbe_findings_add(log->findings, GBE_FINDING_UNKNOWN, "wal-unknown-format",
				 log->file, GBE_PLACE_RECORD, reader->offset, GBE_YES, GBE_UNKNOWN,
				 "a record of type %" G_GUINT64_FORMAT
				 " is not known to this program",
				 reader->record.type);
		log->wal->complete = false;
		log->stop = true;
		break;
	}
}

static bool
read_records(Log *log, bool last, GError **error)
{
	GbeWalEnd end = GBE_WAL_END_NONE;
	GbeTri whole = GBE_NO;

	while (!log->stop) {
		if (!gbe_wal_segment_next(log->reader, &end, error))
			return false;
		if (end != GBE_WAL_END_NONE)
			break;
		take_record(log);
		if (log->visitor != NULL)
			log->visitor(log->reader, log->data);
	}
	log->wal->bytes += log->reader->offset;
	log->running = log->reader->running;
	if (log->stop)
		return true;
	if (!gbe_wal_segment_judge_end(log->reader, end, last, log->version, log->file,
				       log->findings, &whole, error))
		return false;
	log->wal->ended = whole == GBE_YES;
	/* The next segment is still read, with a new beginning, to report what else is wrong. */
	if (whole == GBE_NO) {
		log->wal->complete = false;
		log->running = 0;
	}
	return true;
}

/* @before: the previous segment, or NULL. */
static bool
read_segment(Log *log, int dir_fd, const GbeWalSegment *before, bool last, GError **error)
{
	g_auto(GbeWalSegmentReader) reader = {0};
	gbe_autofd int fd = -1;
	struct stat st;

	if (before != NULL && log->segment->sequence != before->sequence + 1) {
		gbe_findings_add(log->findings, GBE_FINDING_DAMAGE, "wal-gap", log->file,
				 GBE_PLACE_FILE, 0, GBE_YES, GBE_NO,
				 "the segment before it is number %" G_GUINT64_FORMAT
				 ": what lay between is missing",
				 before->sequence);
		log->wal->complete = false;
		log->running = 0;
	}
	fd = openat(dir_fd, log->segment->name,
		    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 && errno != ELOOP && errno != ENXIO)
		return gbe_throw_errno(error, errno, "cannot open %s", log->file);
	if (fd >= 0 && fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", log->file);
	if (fd < 0 || !S_ISREG(st.st_mode)) {
		gbe_findings_add(log->findings, GBE_FINDING_DAMAGE, "wal-not-a-file", log->file,
				 GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_UNKNOWN,
				 "it is not a regular file");
		log->wal->complete = false;
		log->running = 0;
		return true;
	}
	log->segment->size = (guint64)st.st_size;
	gbe_wal_segment_open(&reader, fd, log->file, log->segment->size, log->running, log->look);
	log->reader = &reader;
	return read_records(log, last, error);
}

bool
gbe_wal_read(int dir_fd, const char *path, GbeVersion version, GbeLook *look, GbeWalVisitor visitor,
	     gpointer data, GbeWal *ret_wal, GbeFindings *findings, GError **error)
{
	g_auto(GbeWal) wal = {
	    .snapshots = g_array_new(false, false, sizeof(GbeRaftPoint)),
	    .changes = g_array_new(false, false, sizeof(GbeConfChange)),
	};
	Log log = {.wal = &wal,
		   .findings = findings,
		   .look = look,
		   .visitor = visitor,
		   .data = data,
		   .version = version};
	GbeWalSegment *before = NULL;
	g_autoptr(GError) local = NULL;

	if (!gbe_wal_segments_list(dir_fd, path, &wal.segments, findings, error))
		return false;
	wal.complete = wal.segments->len < GBE_WAL_SEGMENTS_MAX;
	/* With too many segments, the list has arbitrary ones. */
	log.stop = !wal.complete;
	for (guint i = 0; i < wal.segments->len && !log.stop; i++) {
		g_autofree char *file = NULL;

		log.segment = g_ptr_array_index(wal.segments, i);
		log.number = i;
		log.file = file = g_build_filename(path, log.segment->name, NULL);
		if (!read_segment(&log, dir_fd, before, i + 1 == wal.segments->len, &local)) {
			/* The look exceeds its limits: that is no failure. */
			if (!gbe_pass_unless(error, &local, GBE_ERROR_CANNOT_TELL))
				return false;
			gbe_findings_add(findings, GBE_FINDING_UNKNOWN, "wal-unread", log.file,
					 GBE_PLACE_FILE, 0, GBE_UNKNOWN, GBE_UNKNOWN, "%s",
					 local->message);
			wal.complete = false;
			log.stop = true;
		}
		before = log.segment;
	}
	if (!wal.has_metadata && wal.complete && wal.segments->len > 0) {
		gbe_findings_add(findings, GBE_FINDING_DAMAGE, "wal-no-metadata", path,
				 GBE_PLACE_FILE, 0, GBE_YES, GBE_NO,
				 "nothing in the log says whose it is");
		wal.complete = false;
	}
	*ret_wal = wal;
	wal = (GbeWal){0};
	return true;
}

/* ---- without judging ---- */

bool
gbe_wal_walk(int wal_fd, const char *path, GbeLook *look, GbeWalVisitor visitor, gpointer data,
	     GError **error)
{
	g_autoptr(GPtrArray) segments = NULL;
	g_auto(GbeFindings) findings = {0};
	guint32 running = 0;

	gbe_findings_init(&findings);
	if (!gbe_wal_segments_list(wal_fd, path, &segments, &findings, error))
		return false;
	for (guint i = 0; i < segments->len; i++) {
		const GbeWalSegment *segment = segments->pdata[i];
		g_autofree char *file = g_build_filename(path, segment->name, NULL);
		g_auto(GbeWalSegmentReader) reader = {0};
		gbe_autofd int fd =
		    openat(wal_fd, segment->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		GbeWalEnd end = GBE_WAL_END_NONE;
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0)
			return gbe_throw_errno(error, errno, "cannot open %s", file);
		gbe_wal_segment_open(&reader, fd, file, (guint64)st.st_size, running, look);
		for (;;) {
			if (!gbe_wal_segment_next(&reader, &end, error))
				return false;
			if (end != GBE_WAL_END_NONE)
				break;
			if (reader.record.type == GBE_WAL_CRC)
				reader.running = reader.record.crc;
			visitor(&reader, data);
		}
		running = reader.running;
	}
	return true;
}

bool
gbe_wal_last_record(int fd, const char *what, bool *ret_found, guint64 *ret_offset,
		    guint32 *ret_crc, GError **error)
{
	GbeLook look = gbe_look_begin(GBE_LOOK_SECONDS);
	g_auto(GbeWindow) window = gbe_window_begin(fd, what, LAST_WINDOW, &look);
	guint64 last = 0;
	guint64 offset = 0;
	bool found = false;
	guint32 crc = 0;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return gbe_throw_errno(error, errno, "cannot look at %s", what);
	for (;;) {
		const guint8 *at = NULL;
		GbeWalFrame frame;
		gsize got = 0;

		if (!gbe_window_at(&window, offset, GBE_WAL_FRAME + GBE_WAL_HEAD, &at, &got, error))
			return false;
		/* Zero ends the written part. A record that goes beyond the file is torn, so not complete. A log
		 * that is being written may have grown since its size was read. */
		if (got < GBE_WAL_FRAME || !gbe_wal_frame_read(at, &frame) ||
		    !gbe_wal_frame_fits(&frame, offset, (guint64)st.st_size) ||
		    !gbe_wal_record_crc(at + GBE_WAL_FRAME,
					MIN((guint64)got - GBE_WAL_FRAME, frame.length), &crc))
			break;
		found = true;
		last = offset;
		offset += GBE_WAL_FRAME + frame.length + frame.padding;
	}
	if (found) {
		*ret_offset = last;
		*ret_crc = crc;
	}
	*ret_found = found;
	return true;
}
