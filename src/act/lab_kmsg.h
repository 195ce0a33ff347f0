/* Lines in the kernel's log that are the lab's own. They are written as userspace must write them:
 * facility "user" (the kernel lets nobody claim its own), with the lab's mark in front, so that
 * nothing ever takes them for the kernel's word. */
#pragma once

#include "err.h"

enum lab_kmsg_level {
	LAB_KMSG_WARNING = 4,
	LAB_KMSG_DEBUG = 7, /* stays in the ring: consoles do not print it */
};

int lab_kmsg_line(enum lab_kmsg_level level, const char *text, struct err *err);
