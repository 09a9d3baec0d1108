/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The newest row of the bucket "key". For etcd/db.h. */
#include "etcd/db-private.h"
#include "etcd/protobuf.h"

static GbeWalk
newest_row(const GbeBboltRow *row, gpointer data, GError **error)
{
	GbeDbNewest *newest = data;
	GbeRevision revision = {0};
	GbeProtobuf message;
	GbeField field;

	(void)error;
	newest->known = row->value != NULL && gbe_revision_read(row->key, row->key_size, &revision);
	newest->deleted = revision.tombstone;
	newest->key = gbe_key_hash(NULL, 0);
	newest->value = 0;
	if (!newest->known)
		return GBE_WALK_ON;
	gbe_protobuf_init(&message, row->value, (gsize)row->value_size);
	while (gbe_protobuf_next(&message, &field) == GBE_FIELD_NEXT)
		if (gbe_field_is(&field, 1, GBE_WIRE_BYTES))
			newest->key = gbe_key_hash(field.data, field.size);
		else if (gbe_field_is(&field, 5, GBE_WIRE_BYTES))
			newest->value = gbe_crc32c(0, field.data, field.size);
	return GBE_WALK_ON;
}

/* The last leaf once more. What was compacted beyond the last row were deletions, each of which is gone. */
bool
gbe_db_read_newest(GbeDbReader *reader, const GbeBboltBucket *bucket, GError **error)
{
	GbeDbNewest newest = {.known = TRUE, .none = TRUE};
	const GbeBboltVisitor visitor = {.row = newest_row, .data = &newest};
	g_auto(GbePageSet) reached = {0};

	gbe_page_set_init(&reached);
	if (!gbe_bbolt_walk_end(&reader->bolt, bucket, &reached, &visitor, error))
		return false;
	newest.none = reader->db.last_row == 0 && reader->db.compact_revision <= 0;
	newest.deleted = newest.deleted || reader->db.last_row < reader->db.compact_revision;
	reader->db.newest = newest;
	return true;
}
