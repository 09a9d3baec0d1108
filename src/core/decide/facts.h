/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Everything that was observed before a decision, as plain data. src/app/backup/observe.h fills it; the decision and
 * the reports read it. Each item is known, or unknown (GBE_UNKNOWN, NULL, 0 or -1, as said at the item). A reason is
 * kept if a person will ask for it.
 */
#pragma once

#include "core/config/config.h"
#include "core/deployment.h"
#include "core/record/intent.h"
#include "core/record/request.h"
#include "core/record/run.h"
#include "core/version.h"

/* ->voters: the number was looked for and not found. It counts as more than one, unless the ledger says one. */
#define GBE_VOTERS_UNCLEAR G_MAXUINT

/* The nonce next to etcd's data in the tree (core/decide/past.h). */
typedef struct {
	char *ledger;	  /* 16 hex digits; NULL: no nonce that root owns */
	guint64 sequence; /* of the take-over */
	char *nonce;
} GbeNonce;

typedef struct {
	/* The system. */
	GbeTri ostree;	      /* the system was booted through ostree */
	GbeDeployment booted; /* D; id NULL: unknown */
	char *booted_why;
	char *run; /* R; NULL: unknown, never "the same" */
	char *run_why;
	GPtrArray *listed;	  /* of GbeListed, boot order; NULL: the list is not known */
	GbeTri booted_is_default; /* a plain boot takes D, and D is no fallback */
	char *next;		  /* boots next: the staged one, else the default; NULL unknown */
	bool skip;		  /* greenboot-etcd.skip on the kernel command line */

	/* The judge. */
	GbeTri judges;	      /* greenboot is installed and enabled */
	GbeTri can_roll_back; /* greenboot could boot an older deployment again */
	GbeTri counted;	      /* the boot loader counts this deployment's boots down, so they end */

	/* The data. */
	GbeTri data; /* there is a member/ with a db or a WAL */
	char *data_why;
	/* Why the data directory, or the store, cannot be opened: others can write to a parent, for example. Then nothing
	 * is decided but whether etcd starts. NULL: they can. */
	char *unopened_why;
	bool deformed;	  /* ->data is unknown, since its names are of types that no etcd leaves */
	bool linked;	  /* ->deformed, and the data directory is itself a link */
	GbeTri log;	  /* there is a WAL; etcd begins a new one if it is missing */
	bool log_seen;	  /* it was where the configuration has it, while etcd answered */
	GbeTri data_open; /* a process has the data open; NO also without data */
	char *data_open_why; /* also why its files cannot be examined, if no process has it open */
	GbeTri sound;	     /* etcd can start on it; unknown: not examined, or an unknown format */
	char *sound_why;
	/* Why a backup of the data would be bad, even if etcd accepts the damage; NULL: no damage was seen. */
	char *damage;
	GbeTri mount_point; /* the data directory is one, now */
	char *tree; /* file system and handle of the data directory; NULL unknown, or none */
	GbeNonce nonce;
	GbeTakeOver *owner; /* the owner of the data (core/decide/past.h); NULL: unknown */
	char *owner_why;    /* why the owner is not known */
	bool stranger;	    /* the owner's tree with another nonce: the data may be another's */
	char *member_id, *cluster_id;
	GbeFingerprint fingerprint;
	gint64 last_write;	    /* newest mtime below member/, seconds; -1 unknown */
	guint voters;		    /* 0: not looked into yet */
	gint64 consistent_index;    /* the raft entry that the database holds; -1 unknown */
	gint64 revision;	    /* of the database; -1 unknown */
	GbeVersion storage_version; /* as the data itself names it */
	GbeVersion cluster_version; /* of the etcd that last had the data, as far as recorded */
	GbeVersion data_version;    /* of [etcd] version-file in the data */
	guint64 data_size;	    /* bytes, apparent */

	/* The program and its place. */
	GbeVersion etcd_version; /* of D's etcd */
	GbeTri etcd_here;	 /* its program lies in D, where [etcd] binary= names it */
	char *data_dir;		 /* absolute, without --root */
	/* The data directory of the owner's configuration, if the data is still there and none is in ->data_dir; NULL. */
	char *left_at;
	GbeTri clones;	/* data and store share a file system that clones */
	GbeTri cramped; /* the data's file system has less room than etcd's start needs */
	GbeTri store;	/* NO: the recorded store is absent, its contents are unknown */
	char *store_path, *store_fs;
	char *
	    store_tree; /* identity of .greenboot-etcd/ on the data's file system; NULL: not there */

	/* The ledger (core/record/ledger.h), folded. */
	GbeTri ledger; /* NO: there is no ledger yet; UNKNOWN: it cannot be read */
	char *ledger_why;
	char *ledger_id;
	guint64 ledger_last; /* the largest sequence in it */
	/* A record of the ledger is lost: then "never ran" and "never green" are unknown. */
	bool holes;
	/* A record after the last take-over is lost: it may have been a take-over. */
	bool lost;
	GPtrArray *take_overs; /* of GbeTakeOver, by sequence */
	GPtrArray *runs;       /* of GbeRunRecord, one for each of them */
	GPtrArray *gone;       /* of GbeGone */
	bool handed_back;      /* the data of the last take-over has no owner any more */
	GbeIntent *intent;     /* open; NULL */
	char *intent_why;      /* why this program cannot read the open intent; NULL */
	/* deployment id -> number of its preruns since the last prerun, of any deployment, that ended. */
	GHashTable *starts;
	char *
	    fell_back; /* the deployment of a start since the last take-over that was not the default; NULL */
	GbeBackupRef undo; /* the data that the last restore displaced; the backup may be deleted */
	bool undo_asked;   /* a person asked for that restore */
	GbeRequest request;
	char *request_why;  /* why it cannot be done, as far as known; NULL */
	bool request_waits; /* a --next-boot request waits after the command line's */
	char *cmdline_done, *rd_cmdline_done; /* done, and still on the command line; NULL */
	char *leaving; /* the verb that set the data aside and was interrupted; NULL */
	bool joining;  /* a verb of membership is under way, for which etcd starts without data */
	bool member; /* of a cluster with others, by its settings, and no such verb is under way */
	bool began;  /* the same, of one that it began: that does not say whether others joined */
	GbeLastOperation last;
	char *failure, *failure_why; /* of the last shutdown: which operation, and why; NULL */

	/* The store. */
	GPtrArray *backups;   /* of GbeManifest */
	GHashTable *taken;    /* every name in the store, of any kind; NULL: none */
	GHashTable *rejected; /* names that this start leaves out; NULL: none */
	char *unread; /* an existing record or manifest that could not be read now; NULL: none */
	guint64 next_sequence;
	gint64 now;    /* CLOCK_REALTIME seconds, a label */
	gint64 uptime; /* CLOCK_BOOTTIME seconds; -1 unknown */

	GbeConfig *config;
	bool config_borrowed; /* ->config belongs to another owner */
} GbeFacts;

GbeFacts *gbe_facts_new(void); /* all unknown, no records, the default configuration */
void gbe_facts_free(GbeFacts *facts);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(GbeFacts, gbe_facts_free)

/* Remembers the first object that exists and could not be read. false for other errors: the object was read and is bad,
 * or does not exist. */
bool gbe_facts_note_unread(GbeFacts *facts, const GError *error);
/* The deployment of that id in ostree's list, or NULL. Owned by @facts. */
const GbeListed *gbe_facts_listed(const GbeFacts *facts, const char *id);
/* Is ostree's list known, with the booted deployment in it? A deployment that is missing from a list without the booted
 * one is not gone: an unmounted /boot empties the list. */
bool gbe_facts_know_listed(const GbeFacts *facts);
/* No etcd can use the contents of the data directory. An etcd may have opened the data before its names were replaced, so
 * ->data_open is also unknown. */
void gbe_facts_set_deformed(GbeFacts *facts, const char *why);
/* The backup of that name, or NULL. Owned by @facts. */
const GbeManifest *gbe_facts_backup(const GbeFacts *facts, const char *name);
/* The backup of @ref. If it is gone, or another backup has its name: a backup of the same state that is not bad, or
 * NULL. */
const GbeManifest *gbe_facts_backup_of(const GbeFacts *facts, const GbeBackupRef *ref);
/* Is @backup, under any name, of the same state as @ref, and not bad? */
bool gbe_facts_is_equal(const GbeManifest *backup, const GbeBackupRef *ref);
/* Would etcd begin a new log? A log that was never seen may be elsewhere, where etcd has it. */
bool gbe_facts_lack_log(const GbeFacts *facts);
/* The newest take-over of that sequence, or NULL. */
const GbeTakeOver *gbe_facts_take_over(const GbeFacts *facts, guint64 sequence);
/* The run record of a take-over's sequence, or NULL. */
const GbeRunRecord *gbe_facts_run(const GbeFacts *facts, guint64 sequence);
/* Is @run (may be NULL) the present one? False if one of them is unknown. */
bool gbe_facts_is_this_run(const GbeFacts *facts, const char *run);
/* Was the data taken over in the present run? */
bool gbe_facts_taken_in_this_run(const GbeFacts *facts);
/* The record of the present run. NULL also if another run has the data. */
const GbeRunRecord *gbe_facts_this_run(const GbeFacts *facts);
