/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * manifest.json of a backup: describes the copy in `data/` next to it, and the result of the run it comes from. Grades
 * and pins are rewritten (durably, as a whole); `data/` never is. Unknown keys are kept, and a higher format is no
 * reason to reject a manifest. Required: name, sequence. The manifest is durable before the backup has its final name.
 */
#pragma once

#include "core/deployment.h"
#include "core/lineage.h"
#include "core/record/fingerprint.h"
#include "core/record/keyed.h"
#include "core/record/take-over.h"
#include "core/version.h"
#include "core/words.h"

#define GBE_MANIFEST_NAME "manifest.json"
/* The largest number of files listed one by one in a manifest. A larger tree is recorded by count and bytes alone. */
#define GBE_MANIFEST_FILES_MAX 2048

typedef enum {
	GBE_ORIGIN_AUTOMATIC, /* prerun or finalize backed it up */
	GBE_ORIGIN_DISPLACED, /* a restore put it here by rename */
	GBE_ORIGIN_MANUAL,    /* a person asked for it */
	GBE_ORIGIN_PERIODIC, /* [backup] schedule; an older program reads it as manual and keeps it */
} GbeOrigin;

typedef enum {
	GBE_VERIFIED_NO,   /* [backup] verify=none */
	GBE_VERIFIED_COPY, /* the durable copy equals its source; etcd's files were not looked into */
	GBE_VERIFIED_SANITY, /* and etcd's files are sound, as far as `sanity` looks */
	GBE_VERIFIED_FULL,
} GbeVerified;

/* The state of the keyed digest in a manifest. */
typedef enum {
	GBE_SEAL_NEW,	/* a new manifest: it is signed when written */
	GBE_SEAL_NONE,	/* there is no digest */
	GBE_SEAL_WRONG, /* the digest is wrong, or was not checked */
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
	GbeDeployment deployment; /* owner; id NULL: adopted, the owner is not known */
	char *run;		  /* owner's run, or NULL */
	guint64 sequence;
	GbeLineage lineage;
	GbeTrial trial; /* the owner's, at that time */
	GbeGrade grade;
	char *grade_reason; /* why the grade is bad, or NULL */
	GbeVerdict verdict;
	GbeHealth health;
	GbeOrigin origin;
	GbeVerified verified;
	GbeMethod method;
	bool live; /* taken while etcd was running */
	bool pinned;
	bool set_aside;	 /* displaced by a restore or undo by hand */
	bool discard;	 /* the same, and unwanted once etcd is healthy on the restored data */
	bool consumed;	 /* data/ itself was exchanged in; a name without data is left */
	gint64 created;	 /* seconds since the epoch: a label, never an order */
	gint64 scrubbed; /* the same, of the last scrub; -1: none yet */
	char *data_dir;	 /* which data directory: absolute, without --root */
	char *description;
	guint64 size; /* bytes, apparent */
	guint64 files_count;
	GPtrArray *files; /* of GbeManifestFile; NULL: more than GBE_MANIFEST_FILES_MAX */
	char **left_out;  /* names of sockets, which carry no data; NULL or NULL-terminated */
	GbeFingerprint fingerprint;
	char *etcd_version; /* all NULL, 0 or -1: unknown */
	char *member_id;
	char *cluster_id;
	gint64 revision;
	guint voters;
	char *storage_version;	 /* as the database names it: the etcd it was written for */
	gint64 consistent_index; /* the raft entry that the database holds */
	gint64 compact_revision; /* this and the next two: known where every row was read */
	gint64 total_keys;	 /* as etcd up to 3.5 counts: rows of all buckets */
	gint64 hash_kv;		 /* etcd's hash of keys and values at ->revision */
	bool outside;		 /* imported: the source is not known */
	bool proved;		 /* imported with a right keyed digest */
	/* For people only: no decision reads them. NULL: not recorded. */
	char *deployment_version; /* of ->deployment, as people know it */
	char *occasion;		  /* when it was made: one of the words of gbe_manifest_why() */
	char *before,
	    *before_version; /* the id and the version of the deployment that took the data then */
	char *hmac;	     /* hex, over all other members (core/record/keyed.h), or NULL */
	GbeSeal seal;	     /* of a manifest that was read; not written */
	char *data_version;  /* contents of [etcd] version-file, first line */
	JsonObject *unknown; /* members and words of a newer program, written again; or NULL */
} GbeManifest;

GbeManifest *gbe_manifest_new(void);
void gbe_manifest_free(GbeManifest *manifest);
GbeManifest *gbe_manifest_copy(const GbeManifest *manifest);
/* The etcd version that the data needs, as far as known: as the data names it, else as etcd called itself. */
const char *gbe_manifest_needs(const GbeManifest *manifest);
/* The place of the backup's state on its line (core/lineage.h). */
guint64 gbe_manifest_place(const GbeManifest *manifest);
/* Bytes of etcd's database in it; -1: the files are not listed. */
gint64 gbe_manifest_db_size(const GbeManifest *manifest);
/* A reference to @manifest. Texts are borrowed. */
GbeBackupRef gbe_manifest_ref(const GbeManifest *manifest);
/* Why the backup was made, in words: "before update 43.20261203.0", "at shutdown". @names: of GbeDeploymentName, or NULL.
 * Newly allocated. NULL: not recorded, by an older program. */
char *gbe_manifest_why(const GbeManifest *manifest, const GPtrArray *names);
void gbe_manifest_add_file(GbeManifest *manifest, const char *path, guint64 size,
			   const char *sha256);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeManifest, gbe_manifest_free)

bool gbe_manifest_parse(const char *bytes, gsize size, GbeManifest **ret_manifest,
			GError **error) GBE_CHECKED;
/* The text can always be read again: a list of files that would make it too large is left out. */
char *gbe_manifest_print(const GbeManifest *manifest);
/* The same, with a keyed digest where the manifest is new or its digest was right before. So rewriting does not sign a
 * manifest that was not signed, or was changed. @keys NULL: no digest. */
char *gbe_manifest_print_signed(const GbeManifest *manifest, const GbeKeys *keys);
/* Sets ->seal of a manifest that was read. */
void gbe_manifest_check_seal(GbeManifest *manifest, const GbeKeys *keys);
/* For a manifest inside another record. @with_files false: the list of files is null. */
bool gbe_manifest_from_json(JsonObject *object, GbeManifest **ret_manifest,
			    GError **error) GBE_CHECKED;
JsonObject *gbe_manifest_to_json(const GbeManifest *manifest, bool with_files);

/* An unknown word of an origin reads as manual, which is never pruned. */
extern const GbeWords gbe_origin_words;	  /* automatic displaced manual periodic */
extern const GbeWords gbe_verified_words; /* no copy sanity full */
/* A GCompareFunc of pointers to GbeManifest: the highest sequence first. */
gint gbe_manifest_newest_first(gconstpointer a, gconstpointer b);

/* The file [etcd] version-file: a number on its first line, or MicroShift's JSON {"version":"4.19.0", ...}. */

/* UNKNOWN: the contents have another form. */
GbeVersion gbe_version_from_file(const char *bytes, gsize size);
