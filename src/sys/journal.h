/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* systemd's journal, by its own protocol: an entry is a list of fields, "NAME=value". */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <sys/uio.h>

/* False where there is no journal, or it does not take the entry: it has to be said in another way. */
bool gbe_journal_send(const struct iovec *fields, guint count);
