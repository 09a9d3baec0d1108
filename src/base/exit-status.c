/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/exit-status.h"

GbeExitStatus
gbe_exit_status_of(const GError *error)
{
	if (error->domain != GBE_ERROR)
		return GBE_EXIT_FAILED;
	switch ((GbeErrorCode)error->code) {
	case GBE_ERROR_USAGE:
	case GBE_ERROR_INVALID_CONFIG:
		return GBE_EXIT_USAGE;
	case GBE_ERROR_PARTIAL:
		return GBE_EXIT_PARTIAL;
	case GBE_ERROR_BUSY:
		return GBE_EXIT_BUSY;
	case GBE_ERROR_UNSAFE_SOURCE:
	case GBE_ERROR_REFUSED:
	case GBE_ERROR_NO_USER:
		return GBE_EXIT_REFUSED;
	case GBE_ERROR_VERIFY_FAILED:
		return GBE_EXIT_UNHEALTHY;
	case GBE_ERROR_CANNOT_TELL:
		return GBE_EXIT_CANNOT_TELL;
	case GBE_ERROR_FAILED:
	case GBE_ERROR_NOT_FOUND:
	case GBE_ERROR_CORRUPT:
	case GBE_ERROR_UNREADABLE:
	case GBE_ERROR_NO_SPACE:
	case GBE_ERROR_UNSUPPORTED:
	default:
		return GBE_EXIT_FAILED;
	}
}
