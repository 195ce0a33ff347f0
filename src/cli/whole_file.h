/* Replace a file in one step: a reader sees the old one or the new one, never a part. */
#pragma once

#include "buf.h"
#include "err.h"

int whole_file_write(const char *path, unsigned mode, const struct buf *text, struct err *err);
