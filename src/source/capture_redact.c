/* What a capture leaves out, because it may be a secret. Pure. */
#include <string.h>

#include "auto.h"
#include "capture.h"
#include "episode.h"
#include "text.h"

#define REDACTED "…"

/* A title that a process gave itself (setproctitle, exec -a) is one string with everything in it:
 * the name ends at the first blank, and a word of the form key=value is none. */
size_t capture_program_len(const char *cmdline)
{
	size_t len = 0;

	while ((unsigned char)cmdline[len] > ' ' && cmdline[len] != '=')
		len++;
	return len;
}

void capture_redact_unit(const char *text, struct buf *out)
{
	static const char *const dropped[] = { "Environment", "PassEnvironment", "SetCredential",
					       "LoadCredential" };
	bool more = false; /* the line before ended in a backslash: this one belongs to it */

	for (const char *line = text; line && *line; line = text_next_line(line)) {
		size_t len = text_line_len(line);
		bool skip = more;
		const char *p = text_skip_blanks(line);
		for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
			skip |= text_starts(p, dropped[i]);
		/* a comment does not end a continued line */
		bool comment = *p == '#' || *p == ';';
		if (!comment)
			more = len && line[len - 1] == '\\';
		if (skip || comment)
			continue;
		const char *equals = memchr(line, '=', len);
		if (text_starts(p, "Exec") && equals) {
			size_t word = (size_t)(text_skip_blanks(equals + 1) - line);
			len = word + strcspn(line + word, " \t\n");
		} else if (more) {
			len--; /* its continuation is left out */
		}
		buf_add(out, line, len);
		buf_add_char(out, '\n');
	}
}

/* Names of options stay, their values go; a value may be quoted, or the whole word. Behind "--"
 * stands what init gets: none of ours. */
static void redact_words(const char *p, const char *end, struct buf *out)
{
	while (p < end) {
		const char *word = p;
		const char *equals = NULL;
		bool quoted = false;

		for (; p < end && (quoted || *p != ' '); p++) {
			quoted ^= *p == '"';
			equals = !equals && *p == '=' ? p : equals;
		}
		bool rest = p - word == 2 && memcmp(word, "--", 2) == 0;
		if (equals && !memchr(word, ' ', (size_t)(equals - word)))
			buf_addf(out, "%.*s=" REDACTED, (int)(equals - word), word);
		else if (equals || memchr(word, '"', (size_t)(p - word)))
			buf_add_str(out, REDACTED); /* no name, or a value that was cut in two */
		else
			buf_add(out, word, (size_t)(p - word));
		if (rest && p < end) {
			buf_add_str(out, " " REDACTED);
			return;
		}
		for (; p < end && *p == ' '; p++)
			buf_add_char(out, ' ');
	}
}

static const char *redact_find(const char *text, size_t len, const char *what)
{
	const char *at = memmem(text, len, what, strlen(what));
	return at ? at + strlen(what) : NULL;
}

/* The text of a line of the kernel itself. *words: lines of init's arguments or environment, which
 * are the options that the kernel does not know, follow. */
static void redact_kernel_text(const char *text, size_t len, bool *words, struct buf *out)
{
	const char *end = text + len;
	const char *from = redact_find(text, len, "ommand line: ");
	const char *unknown = redact_find(text, len, "command line parameters \"");
	/* the rest of an audit record may be the arguments of a program */
	const char *audit = redact_find(text, len, "audit: type=");
	const char *id = audit ? redact_find(audit, (size_t)(end - audit), "): ") : NULL;
	bool listed = *words && redact_find(text, len, "    ");

	*words = listed || redact_find(text, len, "  with arguments:") ||
		 redact_find(text, len, "  with environment:");
	if (unknown) { /* one quote around all of them */
		buf_add(out, text, (size_t)(unknown - text));
		const char *close = memrchr(unknown, '"', (size_t)(end - unknown));
		redact_words(unknown, close ? close : end, out);
		buf_add(out, close ? close : end, (size_t)(close ? end - close : 0));
	} else if (id) {
		buf_add(out, text, (size_t)(id - text));
		buf_add_str(out, REDACTED);
	} else if (from || listed) {
		from = from ? from : text;
		buf_add(out, text, (size_t)(from - text));
		redact_words(from, end, out);
	} else {
		buf_add(out, text, len);
	}
}

/* Lines of userspace count for the rate of the log, so their heads stay; what they say is nobody's
 * business but where the lab wrote it. */
void capture_redact_kmsg(const char *text, struct buf *out)
{
	bool words = false, dropped = false;

	for (const char *line = text; line && *line; line = text_next_line(line)) {
		size_t len = text_line_len(line);
		const char *p = line, *semicolon = memchr(line, ';', MIN_OF(len, 128u));
		uint64_t priority = 0;

		if (*line == ' ' && dropped) /* the dictionary of such a line */
			continue;
		bool record = semicolon && text_take_u64(&p, &priority) == 0 && *p == ',';
		unsigned facility = record ? (unsigned)(priority >> 3) : 0;
		const char *said = record ? semicolon + 1 : line;
		size_t said_len = len - (size_t)(said - line);
		dropped = facility && !episode_lab_line(facility, said, said_len);
		buf_add(out, line, (size_t)(said - line));
		if (dropped)
			buf_add_str(out, REDACTED);
		else if (facility)
			buf_add(out, said, said_len);
		else
			redact_kernel_text(said, said_len, &words, out);
		buf_add_char(out, '\n');
	}
}
