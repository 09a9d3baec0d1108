/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The table of the configuration's keys, and the conversion of one value to and from text. Every statement
 * about a key (its range, its default, its words) comes from its row.
 */
#pragma once

#include "core/config/config.h"
#include "core/json/members.h"

typedef enum {
	GBE_KEY_TEXT,	  /* char *; ->kind says what it must be */
	GBE_KEY_PATH,	  /* char *: absolute, made canonical */
	GBE_KEY_DURATION, /* guint64 seconds */
	GBE_KEY_SIZE,	  /* guint64 bytes */
	GBE_KEY_PERCENT,  /* guint */
	GBE_KEY_COUNT,	  /* guint */
	GBE_KEY_COUNT64,  /* guint64 */
	GBE_KEY_BOOL,	  /* bool */
	GBE_KEY_WORD,	  /* an enum, numbered like ->words */
} GbeKeyType;

typedef struct {
	const char *group, *key;
	GbeKeyType type;
	gsize offset; /* in GbeConfig */
	const char *fallback;
	const char *none; /* the text that means 0 or NULL; NULL: none does */
	guint64 min, max; /* of numbers */
	const char *const *words;
	const GbeKind *kind;
} GbeConfigKey;

/* In the order of display. Ends with a NULL group. */
extern const GbeConfigKey gbe_config_keys[];

/* @key NULL: the first key of @group. NULL: no such key. */
const GbeConfigKey *gbe_config_key_find(const char *group, const char *key);
/* The optional program ("store", "certs", "cluster") that alone reads @key; NULL: the base reads it. */
const char *gbe_config_key_program(const GbeConfigKey *key);
/* GBE_ERROR_INVALID_CONFIG says what is wrong and what is allowed, without file, line and key. */
bool gbe_config_key_set(const GbeConfigKey *key, GbeConfig *config, const char *text,
			GError **error) GBE_CHECKED;
/* A text that sets the present value. A password in an address is left out. Newly allocated. */
char *gbe_config_key_get(const GbeConfigKey *key, const GbeConfig *config);
