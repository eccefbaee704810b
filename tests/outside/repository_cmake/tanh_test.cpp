#include "gradus.h"
#include "ops.h"

int main() {
  const Vector x{0.5, -1.25, 2.0};
  return gradus::check::report_all({gradus::check::raw("tanh", tanh_of, tanh_backward, x)});
}
