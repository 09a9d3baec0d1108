/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads GRUB's environment block, and never writes it: "# GRUB Environment Block\n", key=value lines with backslash
 * escapes, '#' padding (greenboot.md section 3). */
#pragma once

#include "base/auto.h"
#include "base/error.h"

/* Parses any bytes from memory. *ret_table: char * -> char *. GBE_ERROR_CORRUPT without the header. */
bool gbe_grubenv_parse(const char *bytes, gsize size, GHashTable **ret_table,
		       GError **error) GBE_CHECKED;
/* /boot/grub2/grubenv, else /boot/grub/grubenv. GBE_ERROR_NOT_FOUND when there is none. */
bool gbe_grubenv_read(int root_fd, GHashTable **ret_table, GError **error) GBE_CHECKED;
