/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * manifest.json of a backup: what the copy in `data/` beside it is, and what became of the run it
 * comes from. Grades and pins are rewritten (durably, as a whole); `data/` never is. A key
 * that is not known is kept, and a higher format is no reason to reject it. Required: name, sequence. Durable before the backup has its final name.
 */
#pragma once

#include "core/deployment.h"
#include "core/fingerprint.h"
#include "core/keyed.h"
#include "core/lineage.h"
#include "core/take-over.h"
#include "core/verdict.h"

#define GBE_MANIFEST_NAME "manifest.json"
/* Files listed one by one in a manifest; a tree with more is recorded by count and bytes alone. */
#define GBE_MANIFEST_FILES_MAX 2048

typedef enum {
	GBE_ORIGIN_AUTOMATIC, /* prerun or finalize backed it up */
	GBE_ORIGIN_DISPLACED, /* a restore put it here by rename */
	GBE_ORIGIN_MANUAL,    /* somebody asked for it */
	GBE_ORIGIN_PERIODIC,  /* [backup] schedule; what reads it as manual keeps it */
} GbeOrigin;

typedef enum {
	GBE_VERIFIED_NO,     /* [backup] verify=none */
	GBE_VERIFIED_COPY,   /* the durable copy is the source; etcd's files not looked into */
	GBE_VERIFIED_SANITY, /* and they are sound, as far as `sanity` looks */
	GBE_VERIFIED_FULL,
} GbeVerified;

/* What is known of the keyed digest in the manifest, once it was read. */
typedef enum {
	GBE_SEAL_NEW,	/* it was not read: whoever writes it signs it */
	GBE_SEAL_NONE,	/* there is none */
	GBE_SEAL_WRONG, /* it is not right, or nobody has looked */
	GBE_SEAL_RIGHT,
} GbeSeal;

typedef struct {
	char *path;   /* relative to data/ */
	guint64 size; /* bytes */
	char *sha256; /* hex; NULL: not recorded (cloned, not scrubbed yet) */
} GbeManifestFile;

typedef struct {
	guint format;
	char *written_by;
	char *name;
	GbeDeployment deployment; /* owner; id NULL: adopted, nobody knows whose */
	char *run;		  /* owner's run, or NULL */
	guint64 sequence;
	GbeLineage lineage;
	GbeTrial trial; /* the owner's, at that time */
	GbeGrade grade;
	char *grade_reason; /* why bad, or NULL */
	GbeVerdict verdict;
	GbeHealth health;
	GbeOrigin origin;
	GbeVerified verified;
	GbeMethod method;
	gboolean live; /* taken while etcd was running */
	gboolean pinned;
	gboolean set_aside; /* displaced by a restore or undo by hand */
	gboolean
	    discard; /* the same, and nobody wants it once etcd is healthy on what displaced it */
	gboolean consumed; /* data/ itself was exchanged in; the entry is a name without data */
	gint64 created;	   /* seconds since the epoch: a label, never an order */
	gint64 scrubbed;   /* the same, of its last reading in the background; -1: none yet */
	char *data_dir;	   /* which data directory: absolute, without --root */
	char *description;
	guint64 size; /* bytes, apparent */
	guint64 files_count;
	GPtrArray *files; /* of GbeManifestFile; NULL: more than GBE_MANIFEST_FILES_MAX */
	char **left_out;  /* sockets: they carry no data; NULL or NULL-terminated */
	GbeFingerprint fingerprint;
	char *etcd_version; /* all NULL, 0 or -1: unknown */
	char *member_id;
	char *cluster_id;
	gint64 revision;
	guint voters;
	char *storage_version;	 /* that the database names: for which etcd it was written */
	gint64 consistent_index; /* the log's entry that the database holds */
	gint64 compact_revision; /* this and the next two: where every row was read */
	gint64 total_keys;	 /* as etcd up to 3.5 counts: rows of all buckets */
	gint64 hash_kv;		 /* etcd's hash of keys and values at ->revision */
	gboolean outside;	 /* imported: a file that came from anywhere */
	gboolean proved;	 /* and a keyed digest came with that */
	char *hmac;		 /* hex, of all else in here (core/keyed.h), or NULL */
	GbeSeal seal;		 /* of the one that was read; not written */
	char *data_version;	 /* contents of [etcd] version-file, first line */
	JsonObject *unknown;	 /* members and words of a newer program, or NULL: written again */
} GbeManifest;

GbeManifest *gbe_manifest_new(void);
void gbe_manifest_free(GbeManifest *manifest);
GbeManifest *gbe_manifest_copy(const GbeManifest *manifest);
/* For which etcd its data is, as far as known: what the data names, else what etcd called itself. */
const char *gbe_manifest_needs(const GbeManifest *manifest);
/* Where on its line its state is: what contains it is asked by that. */
guint64 gbe_manifest_place(const GbeManifest *manifest);
/* A reference to it. Texts are borrowed. */
GbeBackupRef gbe_manifest_ref(const GbeManifest *manifest);
void gbe_manifest_add_file(GbeManifest *manifest, const char *path, guint64 size,
			   const char *sha256);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeManifest, gbe_manifest_free)

bool gbe_manifest_parse(const char *bytes, gsize size, GbeManifest **ret_manifest,
			GError **error) GBE_CHECKED;
/* Always one that can be read again: a list of files that would make it too large is left out. */
char *gbe_manifest_print(const GbeManifest *manifest);
/* The same with a keyed digest, where that is new or was right before: nothing that was not signed, or that somebody
 * has changed, is signed by being written again. @keys NULL: without one. */
char *gbe_manifest_print_signed(const GbeManifest *manifest, const GbeKeys *keys);
/* Sets ->seal of one that was read. */
void gbe_manifest_check_seal(GbeManifest *manifest, const GbeKeys *keys);
/* As part of another record. @with_files false: the list of files is null. */
bool gbe_manifest_from_json(JsonObject *object, GbeManifest **ret_manifest,
			    GError **error) GBE_CHECKED;
JsonObject *gbe_manifest_to_json(const GbeManifest *manifest, gboolean with_files);

const char *gbe_origin_to_string(GbeOrigin origin);	  /* automatic displaced manual periodic */
GbeOrigin gbe_origin_from_string(const char *text);	  /* unknown word: manual, never pruned */
const char *gbe_verified_to_string(GbeVerified verified); /* no copy sanity full */
GbeVerified gbe_verified_from_string(const char *text);	  /* unknown word: no */
