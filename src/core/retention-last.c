/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The floor, for who removes by name. */
#include "core/retention.h"

#include "core/situation.h"

static gboolean
valid(const GbeManifest *backup)
{
	return backup->grade != GBE_GRADE_BAD && !backup->consumed;
}

gboolean
gbe_retention_is_last_valid(const GbeFacts *facts, const char *name, const char **ret_why)
{
	const GbeManifest *self = gbe_facts_backup(facts, name);
	guint others = 0, others_own = 0;

	if (self == NULL || !valid(self))
		return FALSE;
	for (guint i = 0; i < facts->backups->len; i++) {
		const GbeManifest *backup = facts->backups->pdata[i];

		if (backup == self || !valid(backup))
			continue;
		others++;
		if (gbe_deployment_same(&backup->deployment, &self->deployment))
			others_own++;
	}
	if (others == 0) {
		*ret_why = "of the store";
		return TRUE;
	}
	if (others_own > 0 || self->deployment.id == NULL || facts->listed == NULL ||
	    !gbe_situation_was_green(facts, &self->deployment))
		return FALSE;
	for (guint i = 0; i < facts->listed->len; i++) {
		const GbeListed *listed = facts->listed->pdata[i];

		if (gbe_situation_is_of(facts, &self->deployment, self->sequence, &listed->ref)) {
			*ret_why = "of a deployment that is still listed";
			return TRUE;
		}
	}
	return FALSE;
}
