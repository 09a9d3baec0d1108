/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "app/certs.h"

static int
sooner_first(gconstpointer a, gconstpointer b)
{
	const GbeTlsFile *const *one = a, *const *other = b;

	return (*one)->expires < (*other)->expires ? -1 : (*one)->expires > (*other)->expires;
}

void
gbe_certs_add_to_health(GbeApp *app, GbeHealthFacts *facts)
{
	g_autoptr(GbeCerts) certs = NULL;
	GbeTlsFile *file = NULL;
	gboolean cas = FALSE; /* and nothing else in this file so far */

	g_clear_pointer(&facts->certs, g_ptr_array_unref);
	if (app->config->certs.directories == NULL || !gbe_certs_look(app, &certs, NULL))
		return;
	facts->certs = g_ptr_array_new_with_free_func(gbe_tls_file_free);
	for (guint i = 0; i < certs->certs->len; i++) {
		const GbeCert *cert = certs->certs->pdata[i];
		const GbePem *pem = cert->pem;

		if (pem->kind != GBE_PEM_CERTIFICATE || pem->not_after < 0)
			continue;
		if (file == NULL || !g_str_equal(file->path, cert->path)) {
			file = g_new0(GbeTlsFile, 1);
			*file =
			    (GbeTlsFile){.path = g_strdup(cert->path), .expires = pem->not_after};
			g_ptr_array_add(facts->certs, file);
			cas = pem->ca;
		} else if (cas && pem->ca) {
			/* Of authorities, the one that lasts longest: old ones stay in a bundle. */
			file->expires = MAX(file->expires, pem->not_after);
		}
		/* Behind a certificate are its CAs, which have files of their own. */
	}
	g_ptr_array_sort(facts->certs, sooner_first);
}
