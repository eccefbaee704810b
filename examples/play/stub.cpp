#include "gradus/examples/play/play.h"
const char* play_check(int, int) { return "{}"; }
