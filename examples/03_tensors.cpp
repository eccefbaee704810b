// Lesson 03: tensors, views and broadcasting, and their gradients.
//
// A view reads the same values with other strides. Broadcasting uses a value several times, so its
// gradient is the sum over all uses.

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using namespace gradus::examples;

namespace {

void walk(const std::string& name, const Tensor& x, const Tensor& original) {
  std::printf("%-26s shape %-9s strides %-9s %s\n", name.c_str(), to_string(x.shape()).c_str(),
              to_string(x.strides()).c_str(),
              x.storage() == original.storage() ? "shared memory" : "a copy");
}

/// x [R ≥ 2, C ≥ 2].
void views(const Rows& x_values = {{0, 1, 2}, {3, 4, 5}}) {
  std::printf("---- one buffer, several ways to read it ----\n");
  Tensor x = matrix(x_values);
  const std::int64_t R = x.size(0), C = x.size(1);
  const std::string reshaped = str_cat("reshape(x, {", C, ", ", R, "})");
  const Tensor turned = transpose(x);          // [C, R], x[i, j] = turned[j, i]
  const Tensor refilled = reshape(x, {C, R});  // [C, R], the same order in memory
  const Tensor column = select(x, 1, C - 1);   // [R]
  const Tensor copied = turned.contiguous();   // [C, R], its own memory
  walk("x", x, x);
  walk("transpose(x)", turned, x);
  walk(reshaped, refilled, x);
  walk(str_cat("select(x, 1, ", C - 1, ")"), column, x);
  walk("transpose(x).contiguous()", copied, x);
  show("transpose(x)", turned);
  show(reshaped, refilled);
  const std::vector<double> before = copied.to_vector<double>();
  x.fill_(7);
  expect(turned.to_vector<double>().back() == 7, "a write is visible in every view");
  expect(copied.to_vector<double>() == before, "a write does not change a copy");
}

/// Splitting heads takes a reshape and a transpose. Without the transpose, the shape is right, but
/// tokens mix. Shows head h, 0 to 3.
void heads(int h = 1) {
  std::printf("---- two tokens, four heads of width three: 100 · token + channel ----\n");
  const Tensor x = unsqueeze(tensor({0, 100}), 1) + arange(0.0, 12.0);  // [T 2, C 12]
  const Tensor right = transpose(reshape(x, {2, 4, 3}), 0, 1);          // [H 4, T 2, D 3]
  const Tensor wrong = reshape(x, {4, 2, 3});                           // [H 4, T 2, D 3]
  show(str_cat("head ", h, ", split and transposed"), right[h], {"the", "cat"});
  const std::string both = h < 2 ? "\"the\"" : "\"cat\"";
  show(str_cat("head ", h, ", only reshaped: both rows come from token ", both), wrong[h],
       {"the", "cat"});
  const double c = 3 * h, w = h < 2 ? 6 * h : 6 * h + 88;  // the first values of both results
  expect(same(right[h], tensor({{c, c + 1, c + 2}, {100 + c, 101 + c, 102 + c}})),
         "a head has a row for each token");
  expect(same(wrong[h], tensor({{w, w + 1, w + 2}, {w + 3, w + 4, w + 5}})),
         "a reshape does not move values");
}

/// dy [2, 3], row [3], column [2]. Returns d row and d column.
std::pair<Tensor, Tensor> broadcasting(const Rows& dy_values = {{1, 2, 3}, {100, 200, 300}},
                                       const Row& row_values = {10, 20, 30},
                                       const Row& column_values = {-1, 1}) {
  std::printf("---- broadcasting: values repeated in forward are summed in backward ----\n");
  const Tensor table = tensor({{1, 2, 3}, {4, 5, 6}}).requires_grad_();        // [2, 3]
  const Tensor row = tensor(row_values).requires_grad_();                      // [3]
  const Tensor column = unsqueeze(tensor(column_values), 1).requires_grad_();  // [2, 1]
  const Tensor y = table + column * row;                                       // [2, 3]
  const Tensor dy = matrix(dy_values);
  show("y = table + column · row", y);
  y.backward(dy);
  show("dy, the gradient of y", dy);
  show("d table = dy", table.grad());
  show("d row = Σ over rows of dy · column", row.grad());
  show("d column = Σ over columns of dy · row", column.grad());
  expect(same(table.grad(), dy), "a tensor that is not repeated gets dy unchanged");
  expect(row.grad().shape() == row.shape() && column.grad().shape() == column.shape(),
         "a gradient has the shape of its tensor");
  return {row.grad(), column.grad()};
}

/// Returns dx of y = x + x[row] for row 0 or 1 and dy [2, 3].
Tensor two_ways_back(int row = 1, const Rows& dy_values = {{1, 2, 3}, {100, 200, 300}}) {
  std::printf("---- a tensor and its view: both paths lead back to the same values ----\n");
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}).requires_grad_();  // [2, 3]
  const Tensor last = select(x, 0, row);                             // [3], a view of one row
  const Tensor y = x + last;                                         // [2, 3], last repeated
  y.backward(matrix(dy_values));
  show(str_cat("dx of y = x + x[", row, "]"), x.grad());
  return x.grad();
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  views();
  heads();
  const auto [d_row, d_column] = broadcasting();
  expect(same(d_row, tensor({1 * -1 + 100 * 1, 2 * -1 + 200 * 1, 3 * -1 + 300 * 1})),
         "each value of the row is used twice, and the gradients add up");
  expect(same(d_column, unsqueeze(tensor({1 * 10 + 2 * 20 + 3 * 30, 14000}), 1)),
         "each value of the column is used three times");
  const Tensor dx = two_ways_back();
  expect(same(dx, tensor({{1, 2, 3}, {100 + 101, 200 + 202, 300 + 303}})),
         "row 1 gets its own dy and the sum over the rows it was added to");
}
