/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "certs/for-others.h"

#include <string.h>
#include <unistd.h>

#include "app/certs/export.h"
#include "certs/change.h"
#include "certs/core/renewal.h"

/* RFC 5280: the longest common name. */
#define NAME_MOST 64

void
gbe_others_result_clear(GbeOthersResult *result)
{
	g_clear_pointer(&result->certificate, g_bytes_unref);
	g_clear_pointer(&result->certificate_path, g_free);
	g_clear_pointer(&result->key_path, g_free);
}

static bool
begin(GbeApp *app, const GbeOthersOrder *order, GbeIssuer **ret_issuer, GbeCertOrder *ret_order,
      GError **error)
{
	g_autoptr(GbePki) pki = NULL;
	g_autoptr(GbeIssuer) issuer = NULL;
	const GbePem *by;

	if (geteuid() != 0)
		return gbe_throw(error, GBE_ERROR_FAILED, "the authority's key is root's: sudo");
	if (!gbe_pki_read(app, &pki, error))
		return false;
	if (pki == NULL)
		return gbe_throw(error, GBE_ERROR_NOT_FOUND,
				 "there is no authority in " GBE_PKI_LIVE
				 ": `greenboot-etcd certs init` makes one");
	if (!gbe_pki_open_issuer(app, &pki->signer, &issuer, error))
		return false;
	by = gbe_issuer_certificate(issuer);
	*ret_order = (GbeCertOrder){.name = order->name, .hosts = order->hosts, .use = order->use};
	if (!gbe_renewal_times(g_get_real_time() / G_USEC_PER_SEC, order->validity, by->not_before,
			       by->not_after, &ret_order->not_before, &ret_order->not_after, error))
		return false;
	*ret_issuer = g_steal_pointer(&issuer);
	return true;
}

/* The name is a subject and a file. */
static bool
check_name(const char *name, GError **error)
{
	if (*name != '\0' && *name != '.' && strlen(name) <= NAME_MOST &&
	    name[strspn(name, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "._@-")] == '\0')
		return true;
	return gbe_throw(error, GBE_ERROR_USAGE,
			 "\"%s\" cannot be a certificate's name: 1 to 64 letters, digits and any "
			 "of . _ @ -, and no dot first",
			 name);
}

bool
gbe_others_issue(GbeApp *app, const GbeOthersOrder *order, const char *directory,
		 GbeOthersResult *ret_result, GError **error)
{
	g_auto(GbeOthersResult) result = {0};
	g_autoptr(GbeIssuer) issuer = NULL;
	g_autoptr(GbePrivateKey) key = NULL;
	GbeCertOrder complete;

	if (!check_name(order->name, error) || !begin(app, order, &issuer, &complete, error) ||
	    !gbe_issue(issuer, &complete, &result.certificate, &key, error))
		return false;
	result.not_after = complete.not_after;
	result.certificate_path = g_strdup_printf("%s/%s.crt", directory, order->name);
	result.key_path = g_strdup_printf("%s/%s.key", directory, order->name);
	/* A key without its certificate is of no use to anybody; the other way round neither. */
	if (!gbe_certs_write_file(app, key, result.key_path, error))
		return false;
	if (!gbe_certs_write_file(app, result.certificate, result.certificate_path, error)) {
		gbe_certs_remove_file(app, result.key_path);
		return false;
	}
	*ret_result = result;
	result = (GbeOthersResult){0};
	return true;
}

bool
gbe_others_sign(GbeApp *app, const GbeOthersOrder *order, const char *path,
		GbeOthersResult *ret_result, GError **error)
{
	g_auto(GbeOthersResult) result = {0};
	g_autoptr(GbeIssuer) issuer = NULL;
	g_autoptr(GBytes) request = NULL;
	GbeCertOrder complete;

	if (!gbe_certs_read_file(app, path, false, &request, error))
		return false;
	if (!begin(app, order, &issuer, &complete, error) ||
	    !gbe_issue_for_request(issuer, &complete, request, &result.certificate, error))
		return gbe_prefix(error, "%s", path);
	result.not_after = complete.not_after;
	*ret_result = result;
	result = (GbeOthersResult){0};
	return true;
}
