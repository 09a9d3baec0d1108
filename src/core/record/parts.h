/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The parts that several records share, as their tables use them. */
#pragma once

#include "core/record/fields.h"

extern const GbeField gbe_deployment_fields[]; /* of GbeDeployment: {"id", "handle"} */
extern const GbeField gbe_trial_fields[];      /* of GbeTrial */
extern const GbeField gbe_backup_ref_fields[]; /* of GbeBackupRef */
extern const GbeFieldOwn gbe_lineage_own;      /* of GbeLineage: several members of the record */
extern const GbeFieldOwn gbe_fingerprint_own;  /* of GbeFingerprint: an object, or null */
