/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts that several records have in common, to and from their members. */
#pragma once

#include "core/members.h"
#include "core/take-over.h"

/* Each sets what it reads, whatever was wrong: the caller throws all of it away then. */
/* "deployment": {"id", "handle"}; with @needed, the id must be there. */
void gbe_parts_read_deployment(GbeMembers *m, GbeDeployment *deployment, bool needed);
/* "line" and "ancestors": [{"line", "sequence"}], "ancestors_forgotten". */
void gbe_parts_read_lineage(GbeMembers *m, GbeLineage *lineage);
/* "trial": {"on", "since", "used", "judged", "judges"}. */
void gbe_parts_read_trial(GbeMembers *m, GbeTrial *trial);
/* An object in @key. */
void gbe_parts_read_fingerprint(GbeMembers *m, const char *key, GbeFingerprint *fp);

void gbe_parts_print_deployment(JsonObject *object, const GbeDeployment *deployment);
void gbe_parts_print_lineage(JsonObject *object, const GbeLineage *lineage);
void gbe_parts_print_trial(JsonObject *object, const GbeTrial *trial);
/* null where it is absent. */
void gbe_parts_print_fingerprint(JsonObject *object, const char *key, const GbeFingerprint *fp);
