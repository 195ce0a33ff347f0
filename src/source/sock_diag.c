#include "sock_diag.h"

#include <ctype.h>
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "auto.h"
#include "docker_api.h"
#include "map.h"
#include "text.h"
#include "timefmt.h"

enum { SOCK_PAIRS_MOST = 100000, SOCK_FDS_MOST = 200000, SOCK_WALK_MS = 1500 };

static void sock_diag_attributes(const struct unix_diag_msg *m, size_t len, struct sock_pair *ret)
{
	const struct rtattr *a = (const struct rtattr *)(m + 1);
	size_t left = len - sizeof(*m);

	while (RTA_OK(a, (int)left)) {
		size_t n = RTA_PAYLOAD(a);
		if (a->rta_type == UNIX_DIAG_NAME && n < sizeof(ret->name))
			text_copy_n(ret->name, sizeof(ret->name), RTA_DATA(a), n);
		else if (a->rta_type == UNIX_DIAG_PEER && n == sizeof(ret->peer))
			memcpy(&ret->peer, RTA_DATA(a), sizeof(ret->peer));
		size_t step = RTA_ALIGN(a->rta_len);
		if (step > left)
			break;
		left -= step;
		a = (const struct rtattr *)((const char *)a + step);
	}
}

int sock_diag_parse(const void *bytes, size_t len, struct sock_pairs *ret)
{
	const struct nlmsghdr *h = bytes;

	while (len >= sizeof(*h) && h->nlmsg_len >= sizeof(*h) && h->nlmsg_len <= len) {
		if (h->nlmsg_type == NLMSG_DONE)
			return 1;
		if (h->nlmsg_type == NLMSG_ERROR) {
			const struct nlmsgerr *e = (const struct nlmsgerr *)(h + 1);
			bool whole = h->nlmsg_len >= sizeof(*h) + sizeof(*e);
			return whole && e->error < 0 ? e->error : -EBADMSG;
		}
		size_t payload = h->nlmsg_len - sizeof(*h);
		if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY &&
		    payload >= sizeof(struct unix_diag_msg)) {
			const struct unix_diag_msg *m = (const struct unix_diag_msg *)(h + 1);
			struct sock_pair pair = { .inode = m->udiag_ino };
			sock_diag_attributes(m, payload, &pair);
			if (pair.peer && *pair.name && ret->list.len < SOCK_PAIRS_MOST &&
			    !vec_push(&ret->list, pair))
				return -ENOMEM;
		}
		size_t step = NLMSG_ALIGN(h->nlmsg_len);
		if (step >= len)
			break;
		len -= step;
		h = (const struct nlmsghdr *)((const char *)h + step);
	}
	return 0;
}

int sock_diag_read(struct sock_pairs *ret, struct err *err)
{
	struct {
		struct nlmsghdr h;
		struct unix_diag_req r;
	} request = {
		.h = { .nlmsg_len = sizeof(request),
		       .nlmsg_type = SOCK_DIAG_BY_FAMILY,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.r = { .sdiag_family = AF_UNIX,
		       .udiag_states = ~0u,
		       .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER },
	};
	struct timeval limit = { .tv_sec = 1 };
	AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	static _Thread_local uint64_t space[4096];

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    send(fd, &request, sizeof(request), 0) < 0)
		return err_set(err, -errno, "sock_diag: %s", strerror(errno));
	for (;;) {
		ssize_t n = recv(fd, space, sizeof(space), 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, n < 0 ? -errno : -EIO, "sock_diag: %s",
				       n < 0 ? strerror(errno) : "no answer");
		int r = sock_diag_parse(space, (size_t)n, ret);
		if (r < 0)
			return err_set(err, r, "sock_diag: %s", strerror(-r));
		if (r > 0)
			return 0;
	}
}

bool sock_diag_link_inode(const char *link, uint32_t *ret)
{
	const char *p = link + 8;
	uint64_t n;

	if (!text_starts(link, "socket:[") || text_take_u64(&p, &n) < 0 || *p != ']' ||
	    n > UINT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

bool sock_diag_cgroup(const char *text, char *ret, size_t size)
{
	const char *found = NULL;

	for (const char *line = text; line; line = text_next_line(line)) {
		const char *v1 = memmem(line, text_line_len(line), ":name=systemd:", 14);
		if (v1)
			found = v1 + 14;
		else if (text_starts(line, "0::") && !found)
			found = line + 3;
	}
	return found && text_copy_n(ret, size, found, text_line_len(found));
}

struct sock_walk {
	const struct root *root;
	struct rec_unit_set *set;
	struct map_u64 clients; /* inode of the client's end → 1 + index of the socket */
	const struct docker_socket *sockets;
	const char *pid;
	uint64_t deadline_ns;
	unsigned fds;
	size_t socket; /* 1 + index, once found for this pid */
};

static int sock_each_fd(void *arg, const char *name, unsigned char type)
{
	struct sock_walk *w = arg;
	AUTO_BUF struct buf link = { 0 };
	char path[64];
	uint32_t inode;

	(void)type;
	snprintf(path, sizeof(path), "proc/%s/fd/%s", w->pid, name);
	if (++w->fds > SOCK_FDS_MOST || root_readlink(w->root, path, &link, NULL) < 0 ||
	    !sock_diag_link_inode(buf_str(&link), &inode))
		return 0;
	const uint64_t *socket = map_u64_get(&w->clients, inode);
	if (!socket)
		return 0;
	w->socket = (size_t)*socket;
	return 1;
}

static int sock_each_pid(void *arg, const char *name, unsigned char type)
{
	struct sock_walk *w = arg;
	AUTO_BUF struct buf text = { 0 }, comm = { 0 };
	char path[64], cgroup[1024];

	(void)type;
	if (!isdigit((unsigned char)*name) || strlen(name) > 10)
		return 0;
	if (clock_mono_ns() > w->deadline_ns || w->fds > SOCK_FDS_MOST)
		return 1;
	w->pid = name;
	w->socket = 0;
	snprintf(path, sizeof(path), "proc/%s/fd", name);
	(void)root_list(w->root, path, sock_each_fd, w, NULL);
	if (!w->socket)
		return 0;
	snprintf(path, sizeof(path), "proc/%s/cgroup", name);
	if (root_read(w->root, path, 65536, &text, NULL) < 0 ||
	    !sock_diag_cgroup(buf_str(&text), cgroup, sizeof(cgroup)))
		return 0;
	snprintf(path, sizeof(path), "proc/%s/comm", name);
	(void)root_read(w->root, path, 4096, &comm, NULL);
	struct rec_client c = {
		.runtime = w->sockets[w->socket - 1].runtime,
		.socket = arena_strdup(&w->set->arena, w->sockets[w->socket - 1].path),
		.comm = arena_strndup(&w->set->arena, buf_str(&comm),
				      text_line_len(buf_str(&comm))),
		.cgroup = arena_strdup(&w->set->arena, cgroup),
	};
	(void)text_u64(name, &c.pid);
	(void)!vec_push(&w->set->clients, c);
	return 0;
}

/* /run and /var/run are one. */
static bool sock_same_path(const char *a, const char *b)
{
	a += text_starts(a, "/var/run/") ? 4 : 0;
	b += text_starts(b, "/var/run/") ? 4 : 0;
	return strcmp(a, b) == 0;
}

int sock_diag_clients(const struct root *root, const struct docker_socket *sockets, size_t n,
		      struct rec_unit_set *set, struct err *err)
{
	struct sock_pairs pairs = { 0 };
	struct sock_walk walk = {
		.root = root,
		.set = set,
		.sockets = sockets,
		.deadline_ns = clock_mono_ns() + SOCK_WALK_MS * NS_PER_MS,
	};
	int r = n ? sock_diag_read(&pairs, err) : 0;

	vec_foreach (&pairs.list, pair)
		for (size_t i = 0; i < n; i++)
			if (sock_same_path(pair->name, sockets[i].path)) {
				uint64_t *v =
					map_u64_put(&walk.clients, pair->peer, &(bool){ false });
				if (v)
					*v = i + 1;
			}
	if (r == 0 && walk.clients.len)
		(void)root_list(root, "proc", sock_each_pid, &walk, NULL);
	map_u64_free(&walk.clients);
	vec_free(&pairs.list);
	return r;
}
