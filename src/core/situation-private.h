/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What the files of the situation have in common, and nobody else needs. */
#pragma once

#include "core/situation.h"

/* Unknown where a store that is away might have said so. */
GbeTri gbe_situation_ran_before(const GbeFacts *facts, const GbeDeployment *ref);
/* It did not validate in this start. */
gboolean gbe_situation_rejected(const GbeFacts *facts, const char *name);
/* Could it be put in place of the data at all? Its grade is another question. */
gboolean gbe_situation_restorable(const GbeFacts *facts, const GbeManifest *backup);
/* Can the booted deployment's etcd read it, as far as versions tell? */
GbeTri gbe_situation_backup_usable(const GbeFacts *facts, const GbeManifest *backup);
