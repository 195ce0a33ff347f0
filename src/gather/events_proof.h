/* The proof of a reset from the recording around it: ticks, then profile samples. */
#pragma once

#include <stdbool.h>

#include "queue_proof.h"
#include "stream.h"

/* False when the event is no reset or has no wall time. */
bool events_prove(struct stream *stream, const struct rec_event *event, struct queue_proof *ret);
