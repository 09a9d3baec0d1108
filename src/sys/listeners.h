/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Who has a TCP port that etcd is to listen at. */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* GBE_ERROR_BUSY where somebody listens at the address of @url ("https://127.0.0.1:2379") already; names the
 * process, as far as it may be seen. The kernel is asked, by binding there for a moment; what it does not take
 * for another reason, sockets with a path and names other than localhost are etcd's own to complain about. */
bool gbe_listen_address_is_free(const char *url, GError **error) GBE_CHECKED;
