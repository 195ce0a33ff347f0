#include "tar.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "auto.h"

enum { TAR_BLOCK = 512, TAR_NAME = 100, TAR_LONG_NAME = 'L', TAR_LONG_LINK = 'K' };

struct tar_header {
	char name[TAR_NAME], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type,
		link[TAR_NAME], magic[6], version[2], user[32], group[32], major[8], minor[8],
		prefix[155], rest[12];
};

_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "tar blocks are 512 bytes");

static unsigned tar_checksum(const struct tar_header *h)
{
	const unsigned char *bytes = (const unsigned char *)h;
	unsigned sum = 0;

	for (size_t i = 0; i < sizeof(*h); i++) {
		bool blank = i >= offsetof(struct tar_header, checksum) &&
			     i < offsetof(struct tar_header, type);
		sum += blank ? ' ' : bytes[i];
	}
	return sum;
}

static void tar_pad(struct buf *out, size_t len)
{
	static const char zeros[TAR_BLOCK];

	if (len % TAR_BLOCK)
		buf_add(out, zeros, TAR_BLOCK - len % TAR_BLOCK);
}

static void tar_block(struct buf *out, char type, const char *name, size_t name_len,
		      const char *link, size_t link_len, uint64_t mtime_s, size_t size)
{
	struct tar_header h = { .type = type };

	memcpy(h.name, name, MIN_OF(name_len, sizeof(h.name)));
	memcpy(h.link, link, MIN_OF(link_len, sizeof(h.link)));
	snprintf(h.mode, sizeof(h.mode), "%07o", type == TAR_DIR ? 0755u : 0644u);
	snprintf(h.uid, sizeof(h.uid), "%07o", 0u);
	snprintf(h.gid, sizeof(h.gid), "%07o", 0u);
	snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)size);
	snprintf(h.mtime, sizeof(h.mtime), "%011llo",
		 (unsigned long long)(mtime_s & 077777777777ull));
	memcpy(h.magic, "ustar", 6);
	memcpy(h.version, "00", 2);
	snprintf(h.checksum, sizeof(h.checksum), "%06o", tar_checksum(&h));
	h.checksum[7] = ' ';
	buf_add(out, &h, sizeof(h));
}

static void tar_long(struct buf *out, char type, const char *text, size_t len)
{
	if (len < TAR_NAME)
		return;
	tar_block(out, type, "././@LongLink", 13, "", 0, 0, len + 1);
	buf_add(out, text, len);
	buf_add_char(out, '\0');
	tar_pad(out, len + 1);
}

void tar_put(struct buf *out, enum tar_type type, const char *path, uint64_t mtime_s,
	     const void *data, size_t len)
{
	size_t path_len = strlen(path);
	bool link = type == TAR_LINK;

	tar_long(out, TAR_LONG_NAME, path, path_len);
	if (link)
		tar_long(out, TAR_LONG_LINK, data, len);
	tar_block(out, (char)type, path, path_len, link ? data : "", link ? len : 0, mtime_s,
		  type == TAR_FILE ? len : 0);
	if (type != TAR_FILE)
		return;
	buf_add(out, data, len);
	tar_pad(out, len);
}

void tar_end(struct buf *out)
{
	static const char zeros[2 * TAR_BLOCK];

	buf_add(out, zeros, sizeof(zeros));
}

static int tar_octal(const char *text, size_t len, uint64_t *ret)
{
	uint64_t value = 0;
	size_t i = 0;

	while (i < len && text[i] == ' ')
		i++;
	if (i == len || text[i] < '0' || text[i] > '7')
		return -EBADMSG;
	for (; i < len && text[i] >= '0' && text[i] <= '7'; i++)
		value = value << 3 | (uint64_t)(text[i] - '0');
	*ret = value;
	return 0;
}

/* Where no file begins: damage, unless none has begun before. */
static int tar_bad(const struct tar_reader *r, const char *what, struct err *err)
{
	return r->begun ? err_set(err, -EBADMSG, "%s", what)
			: err_set(err, -EPROTO, "not a tar archive");
}

/* Header and data of the next block group; 0 at the end. */
static int tar_take(struct tar_reader *r, struct tar_header *h, const char **ret_data,
		    size_t *ret_len, struct err *err)
{
	uint64_t size, sum;

	if (r->at == r->end)
		return 0;
	if (r->end - r->at < TAR_BLOCK)
		return tar_bad(r, "archive cut short", err);
	memcpy(h, r->at, sizeof(*h));
	if (!h->name[0] && !h->checksum[0])
		return 0;
	if (tar_octal(h->checksum, sizeof(h->checksum), &sum) < 0 || sum != tar_checksum(h) ||
	    tar_octal(h->size, sizeof(h->size), &size) < 0)
		return tar_bad(r, "broken header of a file", err);
	r->begun = true;
	r->at += TAR_BLOCK;
	uint64_t padded = (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	if (padded < size || padded > (uint64_t)(r->end - r->at))
		return err_set(err, -EBADMSG, "archive cut short");
	*ret_data = r->at;
	*ret_len = (size_t)size;
	r->at += padded;
	return 1;
}

/* prefix/name of ustar, or the name alone. */
static const char *tar_name(struct arena *arena, const struct tar_header *h)
{
	size_t name = strnlen(h->name, sizeof(h->name));
	size_t prefix =
		memcmp(h->magic, "ustar", 6) == 0 ? strnlen(h->prefix, sizeof(h->prefix)) : 0;

	if (!prefix)
		return arena_strndup(arena, h->name, name);
	return arena_printf(arena, "%.*s/%.*s", (int)prefix, h->prefix, (int)name, h->name);
}

int tar_next(struct tar_reader *r, struct arena *arena, struct tar_entry *ret, struct err *err)
{
	const char *long_name = NULL, *long_link = NULL, *data = NULL;
	struct tar_header h;
	size_t len = 0;

	for (;;) {
		int status = tar_take(r, &h, &data, &len, err);
		if (status <= 0)
			return status;
		if (h.type != TAR_LONG_NAME && h.type != TAR_LONG_LINK)
			break;
		const char *text = arena_strndup(arena, data, strnlen(data, len));
		if (!text)
			return err_set(err, -ENOMEM, "out of memory");
		*(h.type == TAR_LONG_NAME ? &long_name : &long_link) = text;
	}
	*ret = (struct tar_entry){ .type = h.type ? h.type : TAR_FILE, .data = data, .len = len };
	ret->path = long_name ? long_name : tar_name(arena, &h);
	ret->link = long_link ? long_link
			      : arena_strndup(arena, h.link, strnlen(h.link, sizeof(h.link)));
	if (!ret->path || !ret->link)
		return err_set(err, -ENOMEM, "out of memory");
	return 1;
}
