/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/error.h"

#include <errno.h>

#include "base/format.h"

GQuark
gbe_error_quark(void)
{
	return g_quark_from_static_string("gbe-error-quark");
}

bool
gbe_throw_errno(GError **error, int errsv, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);
	GbeErrorCode code = GBE_ERROR_FAILED;

	switch (errsv) {
	case ENOSPC:
	case EDQUOT:
		code = GBE_ERROR_NO_SPACE;
		break;
	case ENOENT:
		code = GBE_ERROR_NOT_FOUND;
		break;
	case EOPNOTSUPP:
	case ENOSYS:
		code = GBE_ERROR_UNSUPPORTED;
		break;
	/* ext4 and XFS return the last two for metadata with a wrong checksum. */
	case EIO:
	case EUCLEAN:
	case EBADMSG:
		code = GBE_ERROR_UNREADABLE;
		break;
	default:
		break;
	}
	g_set_error(error, GBE_ERROR, code, "%s: %s", text, g_strerror(errsv));
	return false;
}

bool
gbe_throw(GError **error, GbeErrorCode code, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);

	g_set_error_literal(error, GBE_ERROR, code, text);
	return false;
}

bool
gbe_prefix(GError **error, const char *format, ...)
{
	g_autofree char *text = NULL;

	if (error == NULL || *error == NULL)
		return false;
	text = GBE_VFORMAT(format);
	g_prefix_error(error, "%s: ", text);
	return false;
}

bool
gbe_pass(GError **error, GError **local)
{
	g_propagate_error(error, g_steal_pointer(local));
	return false;
}

bool
gbe_pass_unless(GError **error, GError **local, GbeErrorCode code)
{
	return g_error_matches(*local, GBE_ERROR, code) || gbe_pass(error, local);
}

bool
gbe_rethrow(GError **error, GbeErrorCode code)
{
	if (error != NULL && *error != NULL)
		(*error)->code = code;
	return false;
}

bool
gbe_rethrow_if(GError **error, GbeErrorCode from, GbeErrorCode code)
{
	if (error != NULL && g_error_matches(*error, GBE_ERROR, from))
		(*error)->code = code;
	return false;
}

bool
gbe_convert(GError **error, GbeErrorCode code)
{
	if (error == NULL || *error == NULL || (*error)->domain == GBE_ERROR)
		return false;
	(*error)->domain = GBE_ERROR;
	(*error)->code = code;
	return false;
}

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
