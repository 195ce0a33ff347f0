/* Undefined behaviour on purpose, in sanitizer builds only: this program must not end well. */
#include <limits.h>

int main(int argc, char **argv)
{
	volatile int most = INT_MAX;

	most += argc;
	return 0;
}
