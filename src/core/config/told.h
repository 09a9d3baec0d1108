/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The arguments and variables that a systemd unit gives its program. Options follow the rules of Go's programs (etcd,
 * k3s): one dash or two, "--flag=value" or "--flag value", the last one counts, and a variable counts if there is no
 * flag. Pure.
 */
#pragma once

#include "base/auto.h"
#include "core/tri.h"

/* The values of @key ("User") in the text of a unit and its drop-ins, in order. As systemd reads it: a backslash at the
 * end joins lines, "#" and ";" begin a comment, and an empty value drops those before it. Newly allocated. */
char **gbe_unit_values(const char *text, const char *key);

typedef struct {
	/* Of char *: those after the program's name. NULL: the unit does not start the program. */
	GPtrArray *arguments;
	char **environment; /* of "NAME=value" */
} GbeTold;

/* @unit: its text; @variables: that of its files of variables; @program: a name without a directory. Variables in
 * arguments are put in, and so is what "sh -c" starts. */
void gbe_told_read(const char *unit, const char *variables, const char *program, GbeTold *ret_told);
void gbe_told_clear(GbeTold *told);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(GbeTold, gbe_told_clear)

/* The value of --@flag, or of -@letter (0: it has none), or of @variable (NULL: it has none), borrowed. NULL: not set,
 * or empty. */
const char *gbe_told_value(const GbeTold *told, const char *flag, char letter,
			   const char *variable);
/* The same for a flag that is on or off. UNKNOWN: the value is neither. */
GbeTri gbe_told_switch(const GbeTold *told, const char *flag, const char *variable);
