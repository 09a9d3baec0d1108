/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cli/verb.h"

const GbeVerb *
gbe_verb_find(const char *name)
{
	for (const GbeVerb *verb = gbe_verbs; verb->name != NULL; verb++)
		if (g_str_equal(verb->name, name))
			return verb->alias != NULL ? gbe_verb_find(verb->alias) : verb;
	return NULL;
}
