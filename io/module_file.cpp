#include "gradus/io/module_file.h"

#include "gradus/io/safetensors.h"

namespace gradus::io {

void save(const std::string& path, const nn::Module& module) {
  save_safetensors(path, module.state_dict());
}

void load(const std::string& path, nn::Module& module) {
  module.load_state_dict(load_safetensors(path).tensors);
}

}  // namespace gradus::io
