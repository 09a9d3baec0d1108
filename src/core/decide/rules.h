/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The decision table of decisions.md ("The decision of prerun"), and nothing else: a situation goes in, one
 * rule with its ruling comes out. Every situation has a rule.
 */
#pragma once

#include "core/decide/hold.h"
#include "core/decide/situation.h"

typedef enum {
	GBE_RULE_0,
	GBE_RULE_1,
	GBE_RULE_2,
	GBE_RULE_3,
	GBE_RULE_4,
	GBE_RULE_5,
	GBE_RULE_5A,
	GBE_RULE_6,
	GBE_RULE_9,
	GBE_RULE_10A,
	GBE_RULE_10B,
	GBE_RULE_11,
	GBE_RULE_12,
	GBE_RULE_13,
	GBE_RULE_14,
	GBE_RULE_SKIP, /* greenboot-etcd.skip */
} GbeRule;

/* The effect on the data. */
typedef enum {
	GBE_DATA_KEEP,
	GBE_DATA_BASE,	     /* P(O) replaces it */
	GBE_DATA_CHAIN_OWN,  /* D's own state, as the chain of bases names it */
	GBE_DATA_CHAIN_END,  /* the chain's last backup */
	GBE_DATA_UNWOUND,    /* the newest state in the chain whose owner is not a failed trial */
	GBE_DATA_CANDIDATE,  /* D's newest candidate */
	GBE_DATA_USABLE,     /* D's newest candidate that its etcd can read */
	GBE_DATA_CLOSING,    /* the closing backup */
	GBE_DATA_OWNER_LEFT, /* the data that the owner, another deployment, left */
	GBE_DATA_REQUESTED,
	GBE_DATA_FRESH, /* there is no data, and etcd begins without */
} GbeDataMove;

/* The backup of the data that is taken first. */
typedef enum {
	GBE_BACKUP_NONE,
	GBE_BACKUP_PLAIN,    /* at a plain reboot: as `at-boot` allows; a failure is reported */
	GBE_BACKUP_EFFORT,   /* always tried; a failure is reported */
	GBE_BACKUP_REQUIRED, /* without it the deployment must not get the data: on-upgrade-failure */
	GBE_BACKUP_CLONED,   /* only if the backup is a clone, which is cheap */
} GbeBackupWish;

typedef enum {
	GBE_DISPLACED_AS_GRADED, /* O's backup, graded like any other */
	GBE_DISPLACED_BAD,
	GBE_DISPLACED_ADOPTED, /* adopted-<sequence>, bad: the writer is not known */
} GbeDisplaced;

typedef struct {
	GbeRule rule;
	GbeDataMove move;
	GbeDisplaced displaced; /* if the move displaces data */
	GbeBackupWish backup;
	bool adopt;	  /* the backup is adopted-<sequence>, not the owner's */
	bool upgrade;	  /* D takes the data over: a new trial unless it was green before */
	bool again;	  /* one more pass, on the data that the move puts in place */
	bool take_over;	  /* the ledger records that D has the data */
	bool began_empty; /* with GBE_DATA_FRESH: earlier records name data */
	GbeHold hold;
	bool wait;	 /* first look again for a while: missing things may appear */
	const char *why; /* static, one sentence without a full stop */
} GbeRuling;

/* Rule 2 displaces the data as the rule that it replaces would have. */
void gbe_rules_apply(const GbeSituation *situation, GbeRuling *ret_ruling);
/* The gate, rule 14. @situation->usable describes the data that D would get now. true: the gate changed
 * @ruling. */
bool gbe_rules_gate(const GbeSituation *situation, GbeRuling *ruling);

const char *gbe_rule_to_string(GbeRule rule); /* "0" ... "5a" ... "10a" ... "skip" */
