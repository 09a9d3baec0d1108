#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
systemctl is-active --quiet microshift.service
