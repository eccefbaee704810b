// Every operation: this header only gathers the families.
#pragma once

#include "gradus/ops/activation.h"
#include "gradus/ops/arithmetic.h"
#include "gradus/ops/attention.h"
#include "gradus/ops/derivatives.h"
#include "gradus/ops/dropout.h"
#include "gradus/ops/indexing.h"
#include "gradus/ops/logic.h"
#include "gradus/ops/loss.h"
#include "gradus/ops/mask.h"
#include "gradus/ops/matmul.h"
#include "gradus/ops/movement.h"
#include "gradus/ops/norm.h"
#include "gradus/ops/order.h"
#include "gradus/ops/reduce.h"
#include "gradus/ops/softmax.h"
