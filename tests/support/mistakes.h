// Invalid calls, and words that their error messages must contain.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace gradus::testing {

struct Mistake {
  std::string function;
  std::vector<std::string> nouns;  // op, shape and value in the message
  std::function<void()> make;
};
using Mistakes = std::vector<Mistake>;

Mistakes elementwise_mistakes();
Mistakes shape_mistakes();    // movement, reductions, indexing, order
Mistakes network_mistakes();  // matmuls, norms, losses, attention, dropout
Mistakes layer_mistakes();
Mistakes token_mistakes();           // positions, convolution, einsum, linear attention, checkpoint
Mistakes transformer_mistakes();     // attention layers, decoders, stacks
Mistakes sequence_model_mistakes();  // translator, recommender
Mistakes encoder_model_mistakes();   // BERT, ViT, listener
Mistakes token_layer_mistakes();     // positions, conv1d, linear attention, scores, pooling

inline Mistakes all_mistakes() {
  Mistakes all;
  for (Mistakes (*some)() : {elementwise_mistakes, shape_mistakes, network_mistakes, layer_mistakes,
                             token_mistakes, token_layer_mistakes, transformer_mistakes,
                             sequence_model_mistakes, encoder_model_mistakes})
    for (Mistake& mistake : some()) all.push_back(std::move(mistake));
  return all;
}

}  // namespace gradus::testing
