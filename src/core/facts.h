/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Everything that was observed before a decision, as plain data: filled by src/app/observe.h, read by
 * situation.c, decide.c and retention.c and by nobody else. Each item is known, or unknown (GBE_UNKNOWN,
 * NULL, 0 or -1 as said at the item) with a reason where a person will ask for one.
 */
#pragma once

#include "core/config.h"
#include "core/intent.h"
#include "core/listed.h"
#include "core/request.h"
#include "core/run-record.h"
#include "core/version.h"

/* ->voters: looked for, and not found out. It counts as more than one, unless the ledger says one. */
#define GBE_VOTERS_UNCLEAR G_MAXUINT

/* What lies in the tree beside etcd's data (core/identity.h). */
typedef struct {
	char *ledger;	  /* 16 hex digits; NULL: there is none of root's */
	guint64 sequence; /* of the take-over */
	char *nonce;
} GbeNonce;

typedef struct {
	/* The system. */
	GbeTri ostree;	      /* it was booted through ostree */
	GbeDeployment booted; /* D; id NULL: cannot be told */
	char *booted_why;
	char *run; /* R; NULL: unknown, never "the same" */
	char *run_why;
	GPtrArray *listed; /* of GbeListed, boot order; NULL: the list is not known */
	GbeTri
	    booted_is_default; /* D is what boots without anybody's doing, and it is nobody's fallback */
	char *next;	       /* what boots next: the staged one, else the default; NULL unknown */
	gboolean skip;	       /* greenboot-etcd.skip on the kernel command line */

	GbeTri service_failed; /* etcd's service ended with a failure in this run */

	/* Who judges. */
	GbeTri judges;	      /* greenboot is installed and enabled */
	GbeTri can_roll_back; /* greenboot could bring an older deployment back */

	/* The data. */
	GbeTri data; /* there is a member/ with a db or a WAL */
	char *data_why;
	GbeTri data_open; /* somebody has it open; NO where there is none */
	char *data_open_why;
	GbeTri sound; /* etcd would survive it; unknown: not looked into, or a format not known */
	char *sound_why;
	char *
	    damage; /* why a backup of it would be bad, also where etcd lives with it; NULL: none seen */
	GbeTri mount_point; /* the data directory is one, now */
	char *tree; /* file system and handle of the data directory; NULL unknown, or none */
	GbeNonce nonce;
	GbeTakeOver *owner; /* whose data it is (core/identity.h); NULL: nobody knows */
	char *owner_why;    /* why nobody knows */
	gboolean
	    stranger; /* the tree is the owner's, its nonce is not: somebody may have put data in */
	char *member_id, *cluster_id;
	GbeFingerprint fingerprint;
	gint64 last_write;	    /* newest mtime below member/, seconds; -1 unknown */
	guint voters;		    /* 0: not looked into yet */
	gint64 consistent_index;    /* the log's entry that the database holds; -1 unknown */
	gint64 revision;	    /* of the database; -1 unknown */
	GbeVersion storage_version; /* that the data itself names */
	GbeVersion cluster_version; /* of the etcd that last had it, as far as the records say */
	GbeVersion data_version;    /* of [etcd] version-file in the data */
	guint64 data_size;	    /* bytes, apparent */

	/* The program and its place. */
	GbeVersion etcd_version; /* of D's etcd */
	char *data_dir;		 /* absolute, without --root */
	GbeTri clones;		 /* data and store share a file system that clones */
	GbeTri store;		 /* NO: the recorded store is not there: nothing in it is known */
	char *store_path, *store_fs;

	/* The ledger (core/ledger.h), folded. */
	GbeTri ledger; /* NO: there is none yet; UNKNOWN: it cannot be read */
	char *ledger_why;
	char *ledger_id;
	guint64 ledger_last;   /* the largest sequence in it */
	gboolean holes;	       /* a record of it is lost: never ran, never green are unknown */
	gboolean lost;	       /* ... behind the last take-over: it may have been one */
	GPtrArray *take_overs; /* of GbeTakeOver, by sequence */
	GPtrArray *runs;       /* of GbeRunRecord, one for each of them */
	GPtrArray *gone;       /* of GbeGone */
	gboolean handed_back;  /* the last one's data is nobody's any more */
	GbeIntent *intent;     /* open; NULL */
	char *intent_why;      /* one is open that this program cannot read; NULL */
	GHashTable *
	    starts; /* deployment id -> its preruns since the last one, of any deployment, that ended */
	GbeBackupRef undo; /* what the last restore displaced */
	GbeRequest request;
	char *request_why;	/* why it cannot be carried out, as far as known beforehand; NULL */
	gboolean request_waits; /* one of --next-boot waits behind one of the command line */
	char *cmdline_done, *rd_cmdline_done; /* carried out, and still on the command line; NULL */
	GbeLastOperation last;
	char *failure, *failure_why; /* of the last shutdown: which operation, and why; NULL */

	/* The store. */
	GPtrArray *backups;   /* of GbeManifest */
	GHashTable *taken;    /* every name in the store, of whatever it is; NULL: none */
	GHashTable *rejected; /* names: left out of this start; NULL: none */
	char *
	    unread; /* a record or a manifest that is there and could not be read now; NULL: none */
	guint64 next_sequence;
	gint64 now;    /* CLOCK_REALTIME seconds, a label */
	gint64 uptime; /* CLOCK_BOOTTIME seconds; -1 unknown */

	GbeConfig *config;
	gboolean config_borrowed; /* ->config belongs to somebody else */
} GbeFacts;

GbeFacts *gbe_facts_new(void); /* all unknown, no records, the default configuration */
void gbe_facts_free(GbeFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeFacts, gbe_facts_free)

/* Of what is there and could not be read: remembers the first. What was read and is no good, or is not there, is
 * none of those: false. */
gboolean gbe_facts_note_unread(GbeFacts *facts, const GError *error);
/* NULL when there is none of that name. Owned by @facts. */
const GbeManifest *gbe_facts_backup(const GbeFacts *facts, const char *name);
/* Where it is gone, or its name was given to another one: one that holds the same state and is not bad, or NULL. */
const GbeManifest *gbe_facts_backup_of(const GbeFacts *facts, const GbeBackupRef *ref);
/* The run record of a take-over's sequence, or NULL. */
const GbeRunRecord *gbe_facts_run(const GbeFacts *facts, guint64 sequence);
