/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/error.h"

#include <errno.h>

#include "base/format.h"

GQuark
gbe_error_quark(void)
{
	return g_quark_from_static_string("gbe-error-quark");
}

static GbeErrorCode
code_from_errno(int errsv)
{
	switch (errsv) {
	case ENOSPC:
	case EDQUOT:
		return GBE_ERROR_NO_SPACE;
	case ENOENT:
		return GBE_ERROR_NOT_FOUND;
	case EOPNOTSUPP:
	case ENOSYS:
		return GBE_ERROR_UNSUPPORTED;
	/* ext4 and XFS return the last two for metadata with a wrong checksum. */
	case EIO:
	case EUCLEAN:
	case EBADMSG:
		return GBE_ERROR_UNREADABLE;
	default:
		return GBE_ERROR_FAILED;
	}
}

bool
gbe_throw_errno(GError **error, int errsv, const char *format, ...)
{
	g_autofree char *text = GBE_VFORMAT(format);

	g_set_error(error, GBE_ERROR, code_from_errno(errsv), "%s: %s", text, g_strerror(errsv));
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
