/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "cli/verb.h"

/* rd.greenboot-etcd.restore=, once. Whatever becomes of it, the boot goes on: always true. */
GBE_VERB(boot);
