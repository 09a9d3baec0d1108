#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
export KIND=xfs-noreflink
GBE_CRASH=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/crash/suite.sh
. "$GBE_CRASH/suite.sh"
