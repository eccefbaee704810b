#include "gradus/engine/base/thread_state.h"

namespace gradus {

thread_local constinit ThreadState thread_state;

}  // namespace gradus
