/* One escaper per sink. Names of processes, cgroups, units, files and log lines are hostile bytes:
 * nothing reaches a terminal, JSON, HTML or metrics output except through these. */
#pragma once

#include <stddef.h>

#include "buf.h"

/* Terminal: C0, DEL, C1 and invalid UTF-8 become \xHH; valid UTF-8 stays; bidi controls are shown.
 */
void esc_tty(struct buf *out, const char *bytes, size_t len);
void esc_tty_in_place(char *text); /* same-length variant: every unsafe byte becomes '?' */
/* JSON string body, without quotes. Invalid UTF-8 becomes U+FFFD, so the result is always valid. */
void esc_json(struct buf *out, const char *bytes, size_t len);
/* The same for bytes that need no escape, to where there is room for ESC_SLACK more; returns the
 * end, NULL = some do. */
enum { ESC_SLACK = 8 };
char *esc_json_copy(char *at, const char *bytes, size_t len);
/* HTML text and double-quoted attribute values; control bytes become U+FFFD. */
void esc_html(struct buf *out, const char *bytes, size_t len);
/* Prometheus label value, without quotes. */
void esc_metrics(struct buf *out, const char *bytes, size_t len);
/* Length of the valid UTF-8 sequence at bytes (1-4), 0 when invalid. */
size_t esc_utf8_len(const char *bytes, size_t len);
