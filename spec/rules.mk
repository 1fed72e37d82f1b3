# rules.mk - builds the suite's programs and runs the suite's flavours.
# SPDX-License-Identifier: MIT
#
# The top Makefile includes this.  CONTRIBUTING.md says what each check proves.

# ---------------------------------------------------------------------------
# Programs and libraries of the suite

# Without Lua and without a driver: the C tests outside spec/driver link these.
PURE := $(COMMON) $(COMPILER) \
  $(call objects,src/launch/lze_group.c src/launch/lze_group_rule.c)

TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard spec/*/*_test.c))
# Programs that embed Lua and lze, for users to copy.
EMBED := $(patsubst %.c,$(BUILD)/%,$(wildcard examples/embed/*.c))
HOST := $(BUILD)/spec/host
FUZZ := $(BUILD)/spec/common/spirv_fuzz
OPEN := $(BUILD)/spec/ze_open.so
MISUSE := $(BUILD)/spec/misuse
# Libraries that specs load.
FAULT := $(BUILD)/spec/ze_fault.so
NATIVE := $(BUILD)/spec/native.so
OCLOC := $(BUILD)/spec/libocloc.so
LZC := $(BUILD)/spec/lzc.so
FAKE := $(BUILD)/spec/mpi_fake.so
GPU := $(BUILD)/spec/libpocl_gpu.so
LIBRARIES := $(FAULT) $(NATIVE) $(OCLOC) $(LZC) $(FAKE) $(GPU)

$(BUILD)/obj/spec/%.o: INCLUDES = -Isrc -Idriver -I$(LUA_INCDIR) \
  -DLUA_COMMAND='"$(LUA)"'

# Linked as a program that uses lze.pc would be.
EMBED_LIBS := $(LIBS) -llua$(LUA_V) -lze_loader
$(BUILD)/spec/embed/%_test: $(BUILD)/obj/spec/embed/%_test.o $(BUILD)/liblze.a
	$(call link,-rdynamic,$(EMBED_LIBS))
$(BUILD)/examples/embed/%: $(BUILD)/obj/examples/embed/%.o $(BUILD)/liblze.a
	$(call link,-rdynamic,$(EMBED_LIBS))

$(BUILD)/spec/%_test: $(BUILD)/obj/spec/%_test.o $(PURE)
	$(call link,,$(LIBS))
$(BUILD)/spec/driver/%_test: $(BUILD)/obj/spec/driver/%_test.o
	$(call link,,-lze_loader -ldl -lpthread -lm)
# These call the SPIR-V validator, or write modules.
READING := $(patsubst %,$(BUILD)/spec/driver/%_test,guard mutant)
$(READING): $(BUILD)/spec/driver/%: $(BUILD)/obj/spec/driver/%.o $(COMMON)
	$(call link,,-lze_loader $(LIBS))
# The driver's front with a back end of the test's.
$(BUILD)/spec/driver/seam_test: $(BUILD)/obj/spec/driver/seam_test.o $(DRIVER) \
  $(COMMON)
	$(call link,,-lze_loader $(LIBS))
# Programs that embed Lua; they find the module as any script does.
$(BUILD)/spec/states/%_test: $(BUILD)/obj/spec/states/%_test.o
	$(call link,-rdynamic,-llua$(LUA_V) -ldl -lm)
$(HOST): $(BUILD)/obj/spec/support/host.o
	$(call link,-rdynamic,-llua$(LUA_V) -ldl -lm)
# Its source includes the reader's.
$(FUZZ): $(BUILD)/obj/spec/common/spirv_fuzz.o
	$(call link,,$(LIBS))
$(MISUSE): $(BUILD)/obj/spec/support/misuse.o
	$(call link,,-lze_loader)

CLOSED := -shared $(DEFS)
$(FAULT): $(patsubst %,$(BUILD)/obj/spec/support/%.o,ze_fault ze_sysman)
	$(call link,$(CLOSED),-ldl)
$(NATIVE): $(BUILD)/obj/spec/support/native.o
	$(call link,-shared,-lze_loader)
$(LZC): $(BUILD)/obj/spec/support/lzc_lua.o $(COMPILER) $(COMMON)
	$(call link,-shared,$(LIBS))
$(OCLOC): $(BUILD)/obj/spec/support/ocloc_fake.o
	$(call link,$(CLOSED))
$(FAKE): $(BUILD)/obj/spec/support/mpi_fake.o
	$(call link,$(CLOSED))
$(OPEN): $(BUILD)/obj/spec/support/ze_open.o
	$(call link,$(CLOSED),-ldl)
$(GPU): $(BUILD)/obj/spec/support/cl_gpu.o
	$(call link,$(CLOSED),-ldl)

build-tests: $(TESTS) $(EMBED) $(HOST) $(FUZZ) $(LIBRARIES) $(OPEN) $(MISUSE)
build-tests: ## build the suite's C programs

# ---------------------------------------------------------------------------
# The suite

# By its path: some of the suite's own processes have another PATH.
BUSTED ?= busted --lua=$(shell command -v $(LUA))
DRIVER_PATH := $(abspath $(BUILD))/libze_opencl.so

check: all $(TESTS) $(EMBED) $(HOST) $(LIBRARIES)
check: ## run the suite, or SPECS, installing nothing
	$(WITH) sh scripts/run-tests $(BUSTED) $(SPECS)

# A part of each area, to run before a commit.
FAST_SPECS := $(patsubst %,spec/%_spec.lua,access await buffer core error \
  event graph guard kernel layers module_spirv pin queue share stride types)
FAST_TESTS := $(patsubst %,spec/driver/%_test,saxpy memory event kernel list) \
  spec/common/*_test spec/compiler/*_test
check-fast: all $(TESTS) $(LIBRARIES)
check-fast: ## run a part of the suite, in less than a minute
	LZE_TEST_CACHE=$(BUILD)/cache.kept LZE_TEST_C="$(FAST_TESTS)" \
	  $(WITH) sh scripts/run-tests $(BUSTED) $(FAST_SPECS)

# Without the slowest: they build hundreds of kernels and their code is all Lua,
# or they start hundreds of processes.  MOST_SPECS=spec is all specs.
MOST_SPECS ?= $(filter-out $(patsubst %,spec/%_spec.lua, \
  array_complex array_complex_functions array_complex_reduce \
  array_elementwise array_fourier array_index array_linalg array_linear \
  array_order array_product array_property array_random array_reduce \
  array_search array_signal array_statistics \
  compiler/oracle environment examples fault hostile manual mpi), \
  $(wildcard spec/*_spec.lua spec/*/*_spec.lua))

check-host: all build-tests ## run most of the suite in a minimal C host program
	$(WITH) sh scripts/run-tests $(HOST) $(MOST_SPECS)

check-c: all build-tests ## run the C tests alone
	$(WITH) sh scripts/run-tests true

PYTHON ?= /usr/bin/python3
check-numpy: all ## compare arrays with NumPy; LZE_NUMPY=types, PYTHON=python3
	PYTHON=$(PYTHON) $(WITH) $(BUSTED) spec/numpy.lua \
	  spec/array_file_spec.lua spec/array_archive_spec.lua

check-page: all build-tests ## show a profile's page in BROWSER=chromium
	LZE_TEST_C=none LZE_TEST_BROWSER=$(or $(BROWSER),chromium) \
	  $(WITH) sh scripts/run-tests $(BUSTED) spec/timeline_spec.lua

# ---------------------------------------------------------------------------
# Sanitizers, fuzzers, layers

# LLVM gives threads signal stacks that ASan would unmap as if it had made them.
# GCC 12's LeakSanitizer reads a library's thread-local memory where it no longer
# is, and may crash.
SUPPRESSIONS := $(CURDIR)/spec/support/lsan.supp
check-asan: ## run most of the suite and damaged SPIR-V under ASan and UBSan
	LZE_SWEEP=first \
	ASAN_OPTIONS="use_sigaltstack=0 intercept_tls_get_addr=0" \
	LSAN_OPTIONS="print_suppressions=0 suppressions=$(SUPPRESSIONS)" \
	  $(MAKE) check-host check-fuzz SECONDS=60 BUILD=build/asan \
	  MOST_SPECS="$(MOST_SPECS) spec/fault_spec.lua spec/hostile_spec.lua" \
	  SANITIZE=address,undefined CFLAGS="-O1 -g"

# The tests with several threads: of the driver, of programs, of Lua states.
THREADED := spec/states/states_test $(patsubst %,spec/driver/%_test,module \
  append counter event graph hierarchy ipc kernel list memory mutable \
  pointer query) spec/embed/capi_test
check-tsan: ## run the C tests with several threads under TSan
	TSAN_OPTIONS="suppressions=$(CURDIR)/spec/support/tsan.supp" \
	LZE_TEST_C="$(THREADED)" \
	$(MAKE) check-c BUILD=build/tsan SANITIZE=thread CFLAGS="-O1 -g"

SECONDS ?= 120
SEED ?= 1
check-fuzz: export LZE_TEST_CACHE =
check-fuzz: all $(FUZZ) $(HOST) $(LIBRARIES)
check-fuzz: ## run damaged SPIR-V and random calls; SECONDS, SEED to start from
	$(WITH) sh scripts/check-fuzz $(SECONDS) $(SEED)

check-exit: all build-tests ## exit 200 times during work, with empty caches
	ZE_ENABLE_ALT_DRIVERS="$(DRIVER_PATH)" \
	  $(WITH) $(BUILD)/spec/driver/hostile_test exits 200

# Specs with few kernels: valgrind shows PoCL another processor, for which it
# compiles each kernel again, in many seconds.
VALGRIND := valgrind -q --error-exitcode=9 --num-callers=24 --leak-check=full \
  --errors-for-leak-kinds=definite --show-leak-kinds=definite \
  --suppressions=spec/support/valgrind.supp
VALGRIND_SPECS := spec/buffer_spec.lua spec/types_spec.lua
check-valgrind: all build-tests ## run some specs under valgrind
	HWLOC_COMPONENTS=-x86 LZE_BUILD_SECONDS=0 $(WITH) timeout 900 \
	  $(VALGRIND) $(HOST) --exclude-tags=undefined $(VALGRIND_SPECS)

# Parameters only: the handle-lifetime checker does nothing in loader 1.8 and
# takes immediate command lists for closed ones in 1.20 and 1.32.
# The layer of loader 1.8 refuses flags and formats that are newer than it; the
# tests in NEWER use them.  Those in AGAIN make garbage for minutes while the
# collector always runs, or repeat the same calls of the driver for long.
NEWER := $(patsubst %,spec/driver/%_test,counter graph kernel link \
  mutable query virtual)
AGAIN := spec/driver/server_test spec/states/memory_test \
  $(patsubst %,spec/%_spec.lua,array_file bin compile compiler/opcode debugging \
  regress/plan_given_in_part telemetry trace)
check-validation: all $(TESTS) $(EMBED) $(LIBRARIES)
check-validation: ## run most of the suite under the loader's validation layer
	LZE_TEST_C="$(filter-out $(NEWER) $(AGAIN),$(TESTS:$(BUILD)/%=%))" \
	ZE_ENABLE_VALIDATION_LAYER=1 ZE_ENABLE_PARAMETER_VALIDATION=1 \
	$(WITH) sh scripts/run-tests $(BUSTED) --filter-out=source \
	  $(filter-out $(AGAIN),$(MOST_SPECS))

check-lifetime: ## run specs under the checkers of loader 1.32 in LOADER=dir
	BUSTED="$(BUSTED)" sh scripts/check-lifetime "$(LOADER)"

# ---------------------------------------------------------------------------
# Other machines and systems

# The CPU stands for a device whose memory only its OpenCL may touch.  Without
# the tests of builds, which do not depend on memory; WAY_SPECS=spec is all specs.
WAY ?= svm
WAY_SPECS ?= $(patsubst %,spec/%_spec.lua,buffer event graph graph_transfer \
  kernel queue wrap)
check-memory: all $(TESTS) $(EMBED) $(LIBRARIES)
check-memory: ## run driver tests and some specs with memory by WAY=svm or usm
	LZE_TEST_C="$(filter-out %/build_test %/server_test,$(filter \
	  spec/driver/%,$(TESTS:$(BUILD)/%=%)))" \
	ZOCL_MEMORY=$(WAY) ZOCL_NATIVE_KERNELS=0 $(WITH) sh scripts/run-tests \
	  $(BUSTED) $(WAY_SPECS)

check-testing: ## run specs on Debian testing; CHECKS, SPECS=spec for all
	SPECS="$(SPECS)" sh scripts/in-testing $(CHECKS)

check-intel: all build-tests ## run specs on Intel's OpenCL; SPECS=spec for all
	SPECS="$(SPECS)" sh scripts/check-intel

check-debian13: ## run the demo and specs on Debian 13; SPECS=spec for all
	$(if $(SPECS),,LZE_TEST_C="$(filter-out $(AGAIN),$(TESTS:$(BUILD)/%=%))") \
	SPECS="$(or $(SPECS),$$(sh scripts/opencl-specs) spec/compile_spec.lua)" \
	  sh scripts/check-debian13

# LZT_TESTS are some of the parts that scripts/conformance lists.
conformance: all ## run Intel's level-zero-tests, installed in LZT=dir
	ZE_ENABLE_ALT_DRIVERS="$(DRIVER_PATH)" \
	  $(WITH) $(LUA) scripts/conformance "$(LZT)" $(LZT_TESTS)

MANY ?= 20
check-long: all build-tests ## run for hours: MANY random cases from SEED on
	MANY=$(MANY) SEED=$(SEED) PYTHON=$(PYTHON) BUSTED="$(BUSTED)" \
	  $(WITH) sh scripts/check-long
	sh scripts/check-debian13

check-lua54: all build-tests ## run kernels in Lua in LUAS="interpreters"
	$(WITH) sh scripts/check-lua54 $(LUAS)

# ---------------------------------------------------------------------------
# Sources

check-exports: all ## check that only the documented names are exported
	sh scripts/check-exports $(BUILD)

check-docs: all ## check that the manual is complete and describes what exists
	$(WITH) $(LUA) scripts/check-docs
	sh scripts/check-ze

check-lint: all ## run luacheck, cppcheck and shellcheck, check the layers
	sh scripts/check-lint
	sh scripts/check-layers $(BUILD)

.PHONY: build-tests check check-asan check-c check-debian13 check-docs \
  check-exit check-exports check-fast check-fuzz check-host check-intel \
  check-lifetime check-lint check-long check-lua54 check-memory check-numpy \
  check-page check-testing check-tsan check-valgrind check-validation conformance
