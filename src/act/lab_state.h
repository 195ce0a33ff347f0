/* Where the journals of lab runs lie. */
#pragma once

#include "err.h"

/* ZSCOPE_LAB_STATE, else /run/zscope-lab. */
const char *lab_state_dir(void);
int lab_state_make(struct err *err);
/* A path there that cannot be made or opened; says what is needed where that is the reason. */
int lab_state_refused(struct err *err, int code, const char *path);
