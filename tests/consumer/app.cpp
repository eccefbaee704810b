#include <cstdio>
#include <vector>

#include <gradus/gradus.h>

int main() {
  gradus::Tensor x = gradus::tensor({{1, 2}, {3, 4}});
  x.requires_grad_();
  const gradus::Tensor y = gradus::sum(gradus::matmul(x, x));
  y.backward();
  // Σ x·x = 7 + 10 + 15 + 22. Its gradient at [i, j] is the sum of row j plus the sum of column i.
  const std::vector<float> gradient = x.grad().to_vector<float>();
  const bool right = y.item() == 54 && gradient == std::vector<float>{7, 11, 9, 13};
  std::printf("%g, %g %g %g %g\n", y.item(), gradient[0], gradient[1], gradient[2], gradient[3]);
  return right ? 0 : 1;
}
