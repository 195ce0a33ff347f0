/* The lab's own containers, through the engine's API: one image without a single file in it (what a
 * container needs of the host's programs is bound into it, read-only), and containers of one name.
 * Both carry the run's id and stand in its journal before they are made. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lab.h"

/* Where dockerd listens: DOCKER_HOST=unix://..., else the usual place. False: nowhere. */
bool lab_docker_socket(char ret[108]);
/* Journals image and containers of the run, before either is made. */
int lab_docker_note(struct lab_run *run, const char *socket, struct err *err);
/* The empty image; named like the run, and noted. */
int lab_docker_image(struct lab_run *run, const char *socket, struct err *err);
/* Removes the last container of the run, makes and starts a new one that writes a file into the
 * scratch directory and exits with 1, and waits for its end. */
int lab_docker_turn(struct lab_run *run, const char *socket, uint64_t i, struct err *err);
/* For `lab clean`: "SOCKET/NAME". Gone already is fine. */
int lab_docker_remove(const char *trace, bool image, struct err *err);
