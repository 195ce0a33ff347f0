/* Functions that overflow, truncate in silence or keep hidden state do not compile here.
 * Force-included into every C file of src/ by meson.build. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* clang's headers make macros of some of them when they are fortified */
#undef strcpy
#undef strcat
#undef strncpy
#undef strncat
#undef sprintf
#undef vsprintf

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok gets atoi atol atoll
#pragma GCC poison system popen gmtime ctime asctime mktemp tmpnam
