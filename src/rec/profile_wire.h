/* Bits of the profile frames, shared by encoder and decoder. On disk: never change one. */
#pragma once

#include "profile.h"

enum {
	WIRE_FRAME_INLINED = 4, /* bits 0-1: kind */
	WIRE_FRAME_ADDRESS = 8, /* address and symbol offset follow */
	WIRE_FRAME_FINAL = 16,
	WIRE_FRAME_SHIFT = 5, /* then the module */

	WIRE_EXACT = 1,   /* times in nanoseconds */
	WIRE_WEIGHTS = 2, /* a column of weights; else all are 1 */
	WIRE_EVENTS = 4,
	WIRE_HAVES = 8, /* a column of have bits; else WIRE_HAVE_USUAL */
	WIRE_HAVE_USUAL =
		PROFILE_HAVE_TIME | PROFILE_HAVE_CPU | PROFILE_HAVE_PID | PROFILE_HAVE_TID,
};
