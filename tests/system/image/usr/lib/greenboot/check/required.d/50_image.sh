#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The image's own check: is it as good as it was made?
! test -e /usr/lib/test/bad
