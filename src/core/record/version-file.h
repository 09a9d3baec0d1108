/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file [etcd] version-file: a number on its first line, or MicroShift's JSON {"version":"4.19.0", ...}. */
#pragma once

#include "core/version.h"

/* Not known where the contents are in neither form. */
GbeVersion gbe_version_from_file(const char *bytes, gsize size);
