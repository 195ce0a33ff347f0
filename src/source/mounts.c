#include "mounts.h"

#include <errno.h>
#include <string.h>

#include "text.h"

enum { MOUNTS_MOST = 100000 };

/* Octal escapes of mountinfo: \040 blank, \011 tab, \012 newline, \134 backslash. */
static char *unescape(struct arena *strings, const char *text, size_t len)
{
	char *out = arena_alloc(strings, len + 1);
	size_t n = 0;

	for (size_t i = 0; out && i < len; i++) {
		if (text[i] == '\\' && i + 3 < len && text[i + 1] >= '0' && text[i + 1] <= '3' &&
		    text[i + 2] >= '0' && text[i + 2] <= '7' && text[i + 3] >= '0' &&
		    text[i + 3] <= '7') {
			out[n++] = (char)((text[i + 1] - '0') << 6 | (text[i + 2] - '0') << 3 |
					  (text[i + 3] - '0'));
			i += 3;
		} else {
			out[n++] = text[i];
		}
	}
	return out;
}

static const char *take_word(const char **p, const char *end, size_t *ret_len)
{
	while (*p < end && **p == ' ')
		(*p)++;
	const char *word = *p;
	while (*p < end && **p != ' ')
		(*p)++;
	*ret_len = (size_t)(*p - word);
	return word;
}

/* id parent major:minor root dir options [tags...] - type source options */
static bool parse_line(const char *p, const char *end, struct arena *strings,
		       struct mount_entry *ret)
{
	struct mount_entry m;
	uint64_t major, minor;
	size_t len;
	const char *word;

	take_word(&p, end, &len);
	take_word(&p, end, &len);
	word = take_word(&p, end, &len);
	if (!len || text_take_u64(&word, &major) < 0 || *word++ != ':' ||
	    text_take_u64(&word, &minor) < 0)
		return false;
	m.major = (uint32_t)major;
	m.minor = (uint32_t)minor;
	word = take_word(&p, end, &len);
	m.top = unescape(strings, word, len);
	word = take_word(&p, end, &len);
	m.dir = unescape(strings, word, len);
	do {
		word = take_word(&p, end, &len);
		if (!len)
			return false;
	} while (len != 1 || *word != '-');
	word = take_word(&p, end, &len);
	m.type = unescape(strings, word, len);
	take_word(&p, end, &len);
	word = take_word(&p, end, &len);
	m.options = unescape(strings, word, len);
	if (!m.top || !m.dir || !m.type || !m.options || *m.dir != '/')
		return false;
	*ret = m;
	return true;
}

int mounts_parse(const char *text, struct mounts *ret, struct err *err)
{
	struct mount_entry entry;

	for (const char *p = text; p && *p; p = text_next_line(p)) {
		if (!parse_line(p, p + text_line_len(p), &ret->strings, &entry))
			continue;
		if (ret->list.len >= MOUNTS_MOST || !vec_push(&ret->list, entry))
			return err_set(err, -ENOMEM, "/proc/self/mountinfo: too many mounts");
	}
	return 0;
}

int mounts_read(const struct root *root, struct mounts *ret, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	int r = root_read(root, "proc/self/mountinfo", ROOT_FILE_CAP, &text, err);

	return r < 0 ? r : mounts_parse(buf_str(&text), ret, err);
}

void mounts_free(struct mounts *m)
{
	vec_free(&m->list);
	arena_free(&m->strings);
}

/* What of inner lies behind top; NULL when it is not below it. */
static const char *behind(const char *top, const char *inner)
{
	size_t n = strlen(top);

	if (n == 1)
		return inner;
	if (strncmp(inner, top, n) != 0 || (inner[n] && inner[n] != '/'))
		return NULL;
	return inner + n;
}

const char *mounts_path(const struct mounts *m, uint32_t major, uint32_t minor, const char *inner,
			struct arena *strings)
{
	const struct mount_entry *best = NULL;
	const char *best_rest = NULL;

	vec_foreach (&m->list, e) {
		const char *rest =
			e->major == major && e->minor == minor ? behind(e->top, inner) : NULL;
		/* the mount that shows most of the file system, the first of equals */
		if (rest && (!best || strlen(e->top) < strlen(best->top))) {
			best = e;
			best_rest = rest;
		}
	}
	if (!best)
		return NULL;
	return arena_printf(strings, "%s%s", strcmp(best->dir, "/") == 0 ? "" : best->dir,
			    best_rest);
}

const char *mounts_any_dir(const struct mounts *m, uint32_t major, uint32_t minor)
{
	vec_foreach (&m->list, e)
		if (e->major == major && e->minor == minor)
			return e->dir;
	return NULL;
}

/* One of the directories in "lowerdir=a:b,upperdir=c" holds path. */
static bool in_layer(const char *options, const char *path)
{
	static const char *const keys[] = { "lowerdir=", "upperdir=" };

	for (size_t k = 0; k < 2; k++) {
		const char *p = strstr(options, keys[k]);
		if (!p)
			continue;
		p += strlen(keys[k]);
		while (*p && *p != ',') {
			size_t n = strcspn(p, ":,");
			if (n > 1 && strncmp(path, p, n) == 0 && path[n] == '/')
				return true;
			p += n + (p[n] == ':');
		}
	}
	return false;
}

bool mounts_is_layer(const struct mounts *m, const char *path)
{
	static const char *const stores[] = {
		"*/docker/overlay2/*/diff/*",
		"*/overlay2/*/diff/*",
		"*/storage/overlay/*/diff/*",
		"*/io.containerd.snapshotter.v1.overlayfs/snapshots/*/fs/*",
	};

	vec_foreach (&m->list, e)
		if (strcmp(e->type, "overlay") == 0 && in_layer(e->options, path))
			return true;
	for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++)
		if (text_glob(stores[i], path))
			return true;
	return false;
}
