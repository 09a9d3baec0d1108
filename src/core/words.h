/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The words for the result of a run and for the state of a backup, each with its string table. A word
 * that is not known (of a newer program) reads as the value that decides nothing. Also the word that a person meant
 * who mistyped one.
 */
#pragma once

#include <glib.h>

/* The words of an enumeration, by value. */
typedef struct {
	const char *const *words; /* NULL: the value has no word */
	guint count;
	guint absent; /* the value where there is no word */
	guint other;  /* the value of a word that is not known */
} GbeWords;

/* @text may be NULL. */
guint gbe_words_find(const GbeWords *words, const char *text);
/* Static. A value beyond the table has the word of ->other. */
const char *gbe_words_get(const GbeWords *words, guint value);

extern const GbeWords gbe_verdict_words, gbe_health_words, gbe_grade_words, gbe_method_words;

/* greenboot's verdict on a run. JUDGING: a check has started and none has ended. It is shown as "none", and the run
 * counts as judged. */
typedef enum {
	GBE_VERDICT_NONE,
	GBE_VERDICT_JUDGING,
	GBE_VERDICT_GREEN,
	GBE_VERDICT_RED,
} GbeVerdict;

/* How far a question to etcd came. core/health/health.h decides what that means for etcd's health. */
typedef enum {
	GBE_REACH_ANSWERED,
	GBE_REACH_DENIED,  /* etcd refused, with a gRPC status */
	GBE_REACH_NO_USER, /* refused: etcd has users, and asks for one who may do this */
	GBE_REACH_LATE,	   /* a server is there and did not answer in time */
	GBE_REACH_DOWN,	   /* nothing listens */
	GBE_REACH_DROPPED, /* a server answered, and broke off */
	GBE_REACH_TLS,	   /* certificates, on either side */
	GBE_REACH_FOREIGN, /* the server is not etcd's client port */
	GBE_REACH_LOCAL,   /* an unusable endpoint or file, or an unknown host name */
	GBE_REACH_NOT_ASKED,
} GbeReach;

/* etcd's health in a run. */
typedef enum {
	GBE_HEALTH_NOT_ASKED,
	GBE_HEALTH_HEALTHY,
	GBE_HEALTH_UNHEALTHY,
	GBE_HEALTH_CANNOT_TELL,
} GbeHealth;

typedef enum {
	GBE_GRADE_UNPROVEN, /* valid, but evicts nothing; an unknown word reads as this */
	GBE_GRADE_GOOD,
	GBE_GRADE_BAD,
} GbeGrade;

typedef enum {
	GBE_METHOD_SNAPSHOT,
	GBE_METHOD_REFLINK,
	GBE_METHOD_COPY,
	GBE_METHOD_RENAME,
} GbeMethod;

const char *gbe_verdict_to_string(GbeVerdict verdict); /* none judging green red */
GbeVerdict gbe_verdict_from_string(const char *text);
const char *gbe_verdict_to_public(GbeVerdict verdict); /* none green red: the contract's words */
const char *gbe_health_to_string(GbeHealth health);    /* not-asked healthy unhealthy cannot-tell */
const char *gbe_grade_to_string(GbeGrade grade);       /* unproven good bad */
const char *gbe_method_to_string(GbeMethod method);    /* snapshot reflink copy rename */

/* The one of @words (NULL-terminated) that a slip or two away is @word, or that @word begins; else NULL. Borrowed. */
const char *gbe_nearest_word(const char *word, const char *const *words);
