// Which of the compiled instruction sets the vectorised kernels use.
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <atomic>

#include "core/check.h"
#include "qkv/runtime.h"

namespace qkv::runtime {
namespace {

struct Set {
  const char* name;
  std::int64_t target;
};
constexpr Set kSets[] = {{"AVX-512", HWY_AVX3}, {"AVX2", HWY_AVX2}};

std::atomic<bool> g_asked_for{false};

thread_local Path t_path = Path::automatic;

}  // namespace

std::string instruction_set() {
  const std::int64_t usable = hwy::SupportedTargets() & HWY_TARGETS;
  for (const Set& set : kSets)
    if (usable & set.target) return set.name;
  return "none";
}

std::string instruction_set_reason() {
  if (g_asked_for) return "asked for";
  // A part of AVX-512 that the kernels need may be all that is missing.
  return instruction_set() == kSets[0].name
             ? "the best this processor runs"
             : "this processor has no AVX-512, or not all of it";
}

std::vector<std::string> instruction_sets() {
  // What the processor has, whatever set_instruction_set narrowed it to.
  static const std::int64_t usable = [] {
    hwy::SetSupportedTargetsForTest(0);
    return hwy::SupportedTargets() & HWY_TARGETS;
  }();
  std::vector<std::string> names;
  for (const Set& set : kSets)
    if (usable & set.target) names.emplace_back(set.name);
  return names;
}

void set_instruction_set(const std::string& name) {
  const auto names = instruction_sets();
  for (const Set& set : kSets)
    if (set.name == name)
      for (const auto& usable : names)
        if (usable == name) {
          hwy::SetSupportedTargetsForTest(set.target);
          hwy::GetChosenTarget().DeInit();  // dispatch chooses anew
          g_asked_for = true;
          return;
        }
  std::string list;
  for (const auto& usable : names) list += (list.empty() ? "" : ", ") + usable;
  fail_input("instruction set '{}' is not available; this machine has: {}",
             name, list);
}

UsePath::UsePath(Path path) : before_(t_path) { t_path = path; }
UsePath::~UsePath() { t_path = before_; }
Path path() { return t_path; }

}  // namespace qkv::runtime
