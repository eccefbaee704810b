#include "run.h"

#include <filesystem>
#include <sstream>

#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"
#include "judge.h"

namespace gradus::examples {

std::string resume_command(const std::string& program, const std::string& directory) {
  return program + " train --out " + directory + " --resume";
}

void require_no_run(const std::string& program, const train::RunFiles& files) {
  std::error_code none;
  const bool stopped = std::filesystem::exists(files.checkpoint(), none);
  require<FileError>(
      !train::holds_run(files), files.directory, ": already holds a run; ",
      stopped ? "resume it with " + resume_command(program, files.directory) + ", or " : "",
      "choose another directory with --out");
}

void load_best(nn::Module& model, const train::RunFiles& files) {
  require<FileError>(std::filesystem::exists(files.model()), files.model(),
                     ": does not exist yet; the run has not reached its first evaluation");
  load_fitting(files.model(),
               [&] { model.load_state_dict(io::load_safetensors(files.model()).tensors); });
  model.eval();
}

void load_fitting(const std::string& file, const std::function<void()>& load) {
  try {
    load();
  } catch (const ShapeError& error) {  // its message has one line per tensor
    std::istringstream lines(error.what());
    std::string first;
    std::getline(lines, first);
    std::getline(lines >> std::ws, first);
    fail<FileError>(file, ": holds a model with other sizes than settings.json: ", first, kWayOn);
  }
}

}  // namespace gradus::examples
