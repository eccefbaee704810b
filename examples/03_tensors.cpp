// Lesson 03: tensors, views and broadcasting, and their gradients.
//
// A tensor is a row of values in memory, with a shape and strides. A view reads the same values
// with other strides. Broadcasting uses a value several times, so its gradient is the sum over
// all uses.
//
// In a debugger: break gradus::op::SumTo::forward, and print x and to.

#include "gradus/examples/apps/support/lesson.h"
#include "gradus/gradus.h"

using namespace gradus;
using examples::expect;
using examples::same;
using examples::show;

namespace {

void walk(const char* name, const Tensor& x, const Tensor& original) {
  std::printf("%-26s shape %-9s strides %-9s %s\n", name, to_string(x.shape()).c_str(),
              to_string(x.strides()).c_str(),
              x.storage() == original.storage() ? "shared memory" : "a copy");
}

void views() {
  std::printf("---- one buffer, several ways to read it ----\n");
  Tensor x = tensor({{0, 1, 2}, {3, 4, 5}});   // [2, 3]
  const Tensor turned = transpose(x);          // [3, 2], x[i, j] = turned[j, i]
  const Tensor refilled = reshape(x, {3, 2});  // [3, 2], the same order in memory
  const Tensor column = select(x, 1, 2);       // [2]
  const Tensor copied = turned.contiguous();   // [3, 2], its own memory
  walk("x", x, x);
  walk("transpose(x)", turned, x);
  walk("reshape(x, {3, 2})", refilled, x);
  walk("select(x, 1, 2)", column, x);
  walk("transpose(x).contiguous()", copied, x);
  show("transpose(x)", turned);
  show("reshape(x, {3, 2})", refilled);
  x.fill_(7);
  expect(turned.to_vector<double>()[1] == 7, "every view sees a write");
  expect(copied.to_vector<double>()[1] == 3, "a copy does not");
}

/// Heads need reshape and transpose. reshape by itself gives the right shape but mixes tokens.
void heads() {
  std::printf("---- two tokens, four heads of width three: 100 · token + channel ----\n");
  const Tensor x = unsqueeze(tensor({0, 100}), 1) + arange(0.0, 12.0);  // [T 2, C 12]
  const Tensor right = transpose(reshape(x, {2, 4, 3}), 0, 1);          // [H 4, T 2, D 3]
  const Tensor wrong = reshape(x, {4, 2, 3});                           // [H 4, T 2, D 3]
  show("head 1, split and transposed", right[1], {"the", "cat"});
  show("head 1, only reshaped: both rows come from token \"the\"", wrong[1], {"the", "cat"});
  expect(same(right[1], tensor({{3, 4, 5}, {103, 104, 105}})), "a head has a row for each token");
  expect(same(wrong[1], tensor({{6, 7, 8}, {9, 10, 11}})), "a reshape does not move values");
}

void broadcasting() {
  std::printf("---- broadcasting: values repeated in forward are summed in backward ----\n");
  const Tensor table = tensor({{1, 2, 3}, {4, 5, 6}}).requires_grad_();  // [2, 3]
  const Tensor row = tensor({10, 20, 30}).requires_grad_();              // [3], used for both rows
  const Tensor column = unsqueeze(tensor({-1, 1}), 1).requires_grad_();  // [2, 1], for all columns
  const Tensor y = table + column * row;                                 // [2, 3]
  const Tensor dy = tensor({{1, 2, 3}, {100, 200, 300}});                // all different
  show("y = table + column · row", y);
  y.backward(dy);
  show("dy, the gradient of y", dy);
  show("d table = dy", table.grad());
  show("d row = Σ over rows of dy · column", row.grad());
  show("d column = Σ over columns of dy · row", column.grad());
  expect(same(table.grad(), dy), "a tensor that is not repeated gets dy unchanged");
  expect(same(row.grad(), tensor({1 * -1 + 100 * 1, 2 * -1 + 200 * 1, 3 * -1 + 300 * 1})),
         "each value of the row is used twice, and the gradients add up");
  expect(same(column.grad(), unsqueeze(tensor({1 * 10 + 2 * 20 + 3 * 30, 14000}), 1)),
         "each value of the column is used three times");
  expect(row.grad().shape() == row.shape() && column.grad().shape() == column.shape(),
         "a gradient has the shape of its tensor");
}

void two_ways_back() {
  std::printf("---- a tensor and its view: both paths lead back to the same values ----\n");
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}).requires_grad_();  // [2, 3]
  const Tensor last = select(x, 0, 1);                               // [3], a view of row 1
  const Tensor y = x + last;                                         // [2, 3], last repeated
  y.backward(tensor({{1, 2, 3}, {100, 200, 300}}));
  show("dx of y = x + x[1]", x.grad());
  expect(same(x.grad(), tensor({{1, 2, 3}, {100 + 101, 200 + 202, 300 + 303}})),
         "row 1 gets its own dy and the sum over the rows it was added to");
}

}  // namespace

int main() {
  set_default_dtype(Dtype::f64);
  views();
  heads();
  broadcasting();
  two_ways_back();
}
