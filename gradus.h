// Gradus: a reverse-mode autograd engine with attention layers. This header gathers all of it.
#pragma once

#include "gradus/base/parallel.h"
#include "gradus/base/random.h"
#include "gradus/engine/backward.h"
#include "gradus/engine/create.h"
#include "gradus/engine/tensor.h"
#include "gradus/ops/ops.h"
