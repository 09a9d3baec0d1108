/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* mute ADDRESS PORT: takes what comes over UDP, says so on stdout once it can, and never answers. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

int
main(int argc, char **argv)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	char question[512];

	if (argc != 3 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1)
		return 2;
	address.sin_port = htons((uint16_t)atoi(argv[2]));
	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		perror(argv[1]);
		return 1;
	}
	(void)puts("listens");
	(void)fflush(stdout);
	while (recv(fd, question, sizeof(question), 0) >= 0) {
		(void)puts("asked");
		(void)fflush(stdout);
	}
	return 1;
}
