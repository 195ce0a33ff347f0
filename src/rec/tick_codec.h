/* Ticks as bytes. A segment has one key tick; every other tick of the segment is coded against it
 * (never against its neighbour), so that an intact frame can be read whatever happened to the
 * others. The field tables in rec.h drive it: order and flags of the fields are part of the format,
 * fields are only ever added at the end. docs/FORMAT.md has the bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "tick.h"

enum { TICK_CODEC_VERSION = 1 };

struct tick_codec;

/* One object serves one direction of one recording. NULL = out of memory. */
struct tick_codec *tick_codec_new(void);
void tick_codec_free(struct tick_codec *c);

/* Make t the key and append its bytes; the pace of the counters since the key before goes with it,
 * as the prediction of what follows. */
int tick_codec_encode_key(struct tick_codec *c, const struct tick *t, struct buf *out);
/* -ENODATA without a key. */
int tick_codec_encode(struct tick_codec *c, const struct tick *t, struct buf *out);

/* -EBADMSG: these are not the bytes of a tick. The key given before stays as it was. */
int tick_codec_decode_key(struct tick_codec *c, const void *bytes, size_t len);
/* Replaces *ret (rows and strings are its own). -ENODATA without a key. */
int tick_codec_decode(struct tick_codec *c, const void *bytes, size_t len, struct tick *ret);
bool tick_codec_has_key(const struct tick_codec *c);
