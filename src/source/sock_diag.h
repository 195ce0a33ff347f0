/* Who talks to an engine: unix sockets and their peers over NETLINK_SOCK_DIAG, then the process
 * that holds the peer. The link unit → container rests on this: a foreground `docker run` and an
 * agent with a keep-alive connection both hold one end for as long as they run. */
#pragma once

#include "rec_units.h"
#include "root.h"

struct sock_pair {
	uint32_t inode; /* the server's end: bound to the name */
	uint32_t peer;  /* the client's end */
	char name[108];
};

struct sock_pairs {
	VEC(struct sock_pair) list;
};

/* Pure: netlink messages of one datagram. 1 = the dump is complete, 0 = more to come, negative =
 * not ours or an error the kernel told. */
int sock_diag_parse(const void *bytes, size_t len, struct sock_pairs *ret);
/* All connected unix sockets that have a name. */
int sock_diag_read(struct sock_pairs *ret, struct err *err);
/* Pure: the number in "socket:[4711]"; false for any other link. */
bool sock_diag_link_inode(const char *link, uint32_t *ret);
/* The path in the hierarchy that systemd uses, from the text of /proc/PID/cgroup. */
bool sock_diag_cgroup(const char *text, char *ret, size_t size);
/* Clients of the sockets into set->clients; costs one walk over /proc when someone is connected. */
struct docker_socket;
int sock_diag_clients(const struct root *root, const struct docker_socket *sockets, size_t n,
		      struct rec_unit_set *set, struct err *err);
