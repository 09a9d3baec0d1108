/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A CA with a server's and a client's certificate, another CA that signed none of them, and an etcd that asks for a
 * client's certificate. Included after etcd-real.h. */
#pragma once

static inline void
make_certificates(const char *dir)
{
	static const char script[] =
	    "cd $0\n"
	    "ca() { openssl req -x509 -newkey rsa:2048 -nodes -keyout $1.key -out $1.crt -days 2 "
	    "\\\n"
	    "	-subj /CN=$1 -addext basicConstraints=critical,CA:TRUE; }\n"
	    "cert() { openssl req -newkey rsa:2048 -nodes -keyout $1.key -out $1.csr -subj /CN=$1\n"
	    "	printf 'subjectAltName=IP:127.0.0.1\\nextendedKeyUsage=serverAuth,clientAuth\\n' "
	    ">ext\n"
	    "	openssl x509 -req -in $1.csr -CA $2.crt -CAkey $2.key -CAcreateserial -days $3 \\\n"
	    "		-extfile ext -out $1.crt; }\n"
	    "{ ca ca; ca other; cert server ca 2; cert client ca 2; cert foreign other 2; } "
	    "2>/dev/null\n";

	ck_assert_int_eq(RUN("bash", "-euc", script, dir), 0);
}

/* tls_ctl(etcd, dir, "put", "k", "v"): etcdctl with the client's certificate. */
#define tls_ctl(etcd, dir, ...)                                                                    \
	RUN("bash", "-euc",                                                                        \
	    "cd $0; e=$1; shift; exec etcdctl --endpoints=$e --cacert=ca.crt --cert=client.crt "   \
	    "--key=client.key --command-timeout=2s --dial-timeout=1s \"$@\"",                      \
	    dir, (etcd)->endpoint, __VA_ARGS__)

static inline void
tls_put(const Etcd *etcd, const char *dir, const char *key, const char *value)
{
	ck_assert_int_eq(tls_ctl(etcd, dir, "put", key, value), 0);
}

/* Returns when etcd is healthy. */
static inline void
etcd_spawn_tls(Etcd *etcd, const char *data, const char *dir)
{
	g_autofree char *ca = g_strdup_printf("--trusted-ca-file=%s/ca.crt", dir);
	g_autofree char *cert = g_strdup_printf("--cert-file=%s/server.crt", dir);
	g_autofree char *key = g_strdup_printf("--key-file=%s/server.key", dir);
	g_autofree char *url = g_strdup_printf("https://127.0.0.1:%u", free_port());
	const char *const options[] = {ca, cert, key, "--client-cert-auth", NULL};

	etcd_spawn(etcd, data, url, options);
	for (guint try = 0; tls_ctl(etcd, dir, "endpoint", "health") != 0; try++) {
		ck_assert_uint_lt(try, 100);
		g_usleep(50 * 1000);
	}
}
