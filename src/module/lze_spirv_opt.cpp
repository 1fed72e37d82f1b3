/*
 * lze_spirv_opt.cpp - SPIRV-Tools' optimiser, which has only a C++ interface.
 * SPDX-License-Identifier: MIT
 */
#include "lze_spirv_opt.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include <spirv-tools/optimizer.hpp>

extern "C" uint32_t *lze_spirv_optimize(const uint32_t *words, size_t count,
                                        const char *const *passes,
                                        size_t pass_count, bool *known,
                                        size_t *out_count, char *message,
                                        size_t cap) {
  *known = true;
  snprintf(message, cap, "the optimiser failed");
  try { /* nothing of C++ may reach Lua's longjmp */
    /* Of the universal environments: the OpenCL ones refuse what their
       version of the specification lacks before a pass has run. */
    spvtools::Optimizer optimizer(SPV_ENV_UNIVERSAL_1_5);
    optimizer.SetMessageConsumer(
        [message, cap](spv_message_level_t level, const char *,
                       const spv_position_t &, const char *text) {
          if (level <= SPV_MSG_ERROR) snprintf(message, cap, "%s", text);
        });
    if (passes == nullptr) {
      optimizer.RegisterPerformancePasses();
    } else {
      std::vector<std::string> flags(passes, passes + pass_count);
      *known = optimizer.RegisterPassesFromFlags(flags);
      if (!*known) return nullptr;
    }
    std::vector<uint32_t> result;
    spvtools::OptimizerOptions options;
    options.set_run_validator(false);
    if (!optimizer.Run(words, count, &result, options)) return nullptr;
    size_t size = result.size() * sizeof(uint32_t);
    uint32_t *out = static_cast<uint32_t *>(malloc(size));
    if (out == nullptr) {
      snprintf(message, cap, "not enough memory");
      return nullptr;
    }
    memcpy(out, result.data(), size);
    *out_count = result.size();
    return out;
  } catch (const std::exception &e) {
    snprintf(message, cap, "%s", e.what());
  } catch (...) {
  }
  return nullptr;
}
