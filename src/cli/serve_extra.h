/* Answers of the page that need the diagnosis: given to the API as functions. */
#pragma once

#include "api.h"

extern const struct api_extra serve_extra;
