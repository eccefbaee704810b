#include "run.h"

#include <filesystem>
#include <sstream>

#include "gradus/base/platform.h"
#include "gradus/io/output_file.h"
#include "gradus/io/safetensors.h"
#include "gradus/io/text.h"
#include "interrupt.h"
#include "judge.h"
#include "words.h"

namespace gradus::examples {

std::string resume_command(const std::string& program, const std::string& directory) {
  return program + " train --out " + directory + " --resume";
}

void require_no_run(const std::string& program, const RunFiles& files) {
  std::error_code none;
  const bool stopped = std::filesystem::exists(files.checkpoint(), none);
  require<FileError>(
      !holds_run(files), files.directory, ": holds a run already: ",
      stopped ? "go on with it by " + resume_command(program, files.directory) + ", or " : "",
      "choose another directory with --out");
}

void require_checkpoint(const RunFiles& files) {
  require<FileError>(std::filesystem::exists(files.checkpoint()), files.directory,
                     ": there is no checkpoint to resume: leave --resume out to start a run");
}

void remove_leftovers(const std::string& directory, const std::vector<std::string>& files) {
  std::vector<std::filesystem::path> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    for (const std::string& file : files)
      if (entry.path().filename().string().starts_with(
              std::filesystem::path(file).filename().string() + ".tmp-"))
        leftovers.push_back(entry.path());
  for (const std::filesystem::path& each : leftovers) io::remove_file(each.string());
}

TrainEnd run_trainer(Trainer& trainer, const std::string& program, const Trainer::LossOf& loss_of,
                     const Trainer::Evaluate& evaluate) {
  try {
    return trainer.run(loss_of, evaluate);
  } catch (const FileError& error) {
    fail<FileError>(error.what(), ". Stopped at step ", trainer.step(),
                    "; make room, then go on from the last checkpoint with: ",
                    resume_command(program, trainer.files().directory));
  }
}

void say_cost(double seconds, std::int64_t steps) {
  if (steps > 0)
    say("took", duration(seconds), " for ", io::grouped(steps), " steps, and ",
        byte_size(static_cast<std::int64_t>(platform::peak_resident_bytes())), " of memory");
}

int end_of_run(TrainEnd end, const std::string& program, const RunFiles& files) {
  std::error_code none;
  if (std::filesystem::exists(files.curve(), none))
    std::printf("loss curve: %s\n", files.curve().c_str());
  if (end != TrainEnd::interrupted) return 0;
  std::fprintf(stderr, "%s: stopped and saved; go on with: %s\n", program.c_str(),
               resume_command(program, files.directory).c_str());
  return 128 + interrupt_signal;
}

void load_best(nn::Module& model, const RunFiles& files) {
  require<FileError>(std::filesystem::exists(files.model()), files.model(),
                     ": not there yet: the run has not come to its first evaluation");
  load_fitting(files.model(),
               [&] { model.load_state_dict(io::load_safetensors(files.model()).tensors); });
  model.eval();
}

void load_fitting(const std::string& file, const std::function<void()>& load) {
  try {
    load();
  } catch (const ShapeError& error) {  // a line for each tensor
    std::istringstream lines(error.what());
    std::string first;
    std::getline(lines, first), std::getline(lines >> std::ws, first);
    fail<FileError>(file, ": is of a model of other sizes than settings.json says: ", first,
                    kWayOn);
  }
}

}  // namespace gradus::examples
