/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Writes databases like etcd's, of any size: rows of some keys, in turns or once each, compacted or not. */
#pragma once

#include "etcd/protobuf.h"
#include "lib/bbolt-file.h"

typedef struct {
	guint64 rows;	   /* changes, from revision 2 on */
	guint64 keys;	   /* that take turns */
	gsize value;	   /* bytes */
	gsize noise;	   /* incompressible bytes of the value */
	guint64 compacted; /* up to this revision; 0: never */
	guint32 page_size;
	guint64 delete_every; /* every n-th change of a key deletes it; 0: none */
} DbSpec;

static inline void
db_revision(guint8 at[17], guint64 main)
{
	main = GUINT64_TO_BE(main);
	memset(at, 0, 17);
	memcpy(at, &main, 8);
	at[8] = '_';
}

/* Change @n (from 0) is number n / keys of key n % keys. */
static inline void
db_value(const DbSpec *spec, guint64 n, bool deleted, guint64 generation, GByteArray *value)
{
	g_autofree char *key =
	    g_strdup_printf("/registry/things/%010" G_GUINT64_FORMAT, n % spec->keys);
	guint64 turn = n / spec->keys;
	guint64 first = generation * spec->keys + n % spec->keys;

	g_byte_array_set_size(value, 0);
	gbe_protobuf_put_string(value, 1, key);
	if (deleted)
		return;
	gbe_protobuf_put_varint(value, 2, first + 2);
	gbe_protobuf_put_varint(value, 3, n + 2);
	gbe_protobuf_put_varint(value, 4, turn - generation + 1);
	if (spec->value > 0) {
		g_autofree guint8 *bytes = g_malloc(spec->value);
		guint64 noise = (n + 1) * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);

		for (gsize i = 0; i < spec->value; i++)
			bytes[i] = (guint8)('a' + (n * 7 + i) % 23);
		/* Marsaglia's xorshift64*. */
		for (gsize i = 0; i < MIN(spec->noise, spec->value); i++) {
			noise ^= noise >> 12;
			noise ^= noise << 25;
			noise ^= noise >> 27;
			bytes[i] = (guint8)((noise * G_GUINT64_CONSTANT(0x2545f4914f6cdd1d)) >> 56);
		}
		gbe_protobuf_put_bytes(value, 5, bytes, spec->value);
	}
}

static inline void
db_rows(const DbSpec *spec, BoltTree *tree)
{
	g_autoptr(GByteArray) value = g_byte_array_new();

	for (guint64 n = 0; n < spec->rows; n++) {
		guint64 turn = n / spec->keys;
		guint64 every = spec->delete_every != 0 ? spec->delete_every : G_MAXUINT64;
		bool deleted = turn % every == every - 1;
		guint64 next = n + spec->keys;
		guint8 key[18];

		/* A compaction removes a deletion, and also a change whose key's next change is within the compacted
		 * part. */
		if (n + 2 <= spec->compacted &&
		    (deleted || (next < spec->rows && next + 2 <= spec->compacted)))
			continue;
		db_revision(key, n + 2);
		key[17] = 't';
		db_value(spec, n, deleted, turn / every * every, value);
		bolt_tree_add(tree, 0, key, deleted ? 18 : 17, value->data, value->len);
	}
}

static inline void
db_meta(const DbSpec *spec, BoltTree *tree)
{
	guint64 index = GUINT64_TO_BE(spec->rows + 4);
	guint8 revision[17];

	bolt_tree_add(tree, 0, "consistent_index", 16, &index, 8);
	if (spec->compacted == 0)
		return;
	db_revision(revision, spec->compacted);
	bolt_tree_add(tree, 0, "finishedCompactRev", 18, revision, 17);
	bolt_tree_add(tree, 0, "scheduledCompactRev", 19, revision, 17);
}

static inline void
db_small_bucket(const DbSpec *spec, BoltTree *buckets, const char *name)
{
	static const char member[] =
	    "{\"id\":3316118744372158529,\"peerURLs\":[\"http://127.0.0.1:2380\"],\"name\":\"a\"}";
	g_autoptr(GByteArray) page = NULL;
	BoltTree tree;

	bolt_tree_init(&tree, buckets->file);
	if (strcmp(name, "cluster") == 0)
		bolt_tree_add(&tree, 0, "clusterVersion", 14, "3.4.0", 5);
	else if (strcmp(name, "members") == 0)
		bolt_tree_add(&tree, 0, "2e052ad1d8da2441", 16, member, sizeof(member) - 1);
	else if (strcmp(name, "meta") == 0)
		db_meta(spec, &tree);
	page = bolt_tree_end_inline(&tree);
	bolt_add_bucket(buckets, name, 0, page);
}

static inline void
db_write(const DbSpec *spec, int fd)
{
	static const char *const names[] = {"alarm",	       "auth", "authRoles", "authUsers",
					    "cluster",	       "key",  "lease",	    "members",
					    "members_removed", "meta"};
	BoltFile file;
	BoltTree buckets;

	bolt_open(&file, fd, spec->page_size);
	bolt_tree_init(&buckets, &file);
	for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
		if (strcmp(names[i], "key") == 0) {
			BoltTree rows;

			bolt_tree_init(&rows, &file);
			db_rows(spec, &rows);
			bolt_add_bucket(&buckets, "key", bolt_tree_end(&rows), NULL);
		} else {
			db_small_bucket(spec, &buckets, names[i]);
		}
	}
	bolt_close(&file, bolt_tree_end(&buckets));
}
