#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The image's own check fails in an image that was made bad.
! test -e /usr/lib/test/bad
