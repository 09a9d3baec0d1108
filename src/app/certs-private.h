/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Internal to certs*.c. */
#pragma once

#include "app/certs.h"

/* Which of @certs belong together, and what is wrong with each; @now in seconds since the epoch. */
void gbe_certs_judge(GbeCerts *certs, const GbeConfig *config, gint64 now);
