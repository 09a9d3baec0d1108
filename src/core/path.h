/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Paths in records and in the configuration, which root follows. */
#pragma once

#include <stdbool.h>

/* A relative path that stays below its start: every component is a name, neither empty nor "." nor "..". */
bool gbe_path_is_below(const char *path);
