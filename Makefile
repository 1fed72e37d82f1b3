# Makefile - builds, tests, installs and removes lze and its driver.
# SPDX-License-Identifier: MIT
#
# `make help` lists the targets.  What may be set on the command line:
#   BUILD=dir         where everything is built; several flavours may stand
#                     side by side (BUILD=build/asan)
#   SANITIZE=list     address,undefined ...: compiled and linked in
#   WERROR=1          warnings are errors
#   V=1               show the commands that compile and link
#   PREFIX, DESTDIR   as usual, for install and uninstall
#   LUA=lua5.5        the interpreter of the Lua that is built for
#   CC, CFLAGS, CPPFLAGS, LDFLAGS, LUA_INCDIR

VERSION := 0.1.0

BUILD ?= build
CFLAGS ?= -O2 -g
LUA ?= lua5.4
LUA_V ?= $(or $(patsubst lua%,%,$(filter lua5.%,$(notdir $(LUA)))),$(shell \
  $(LUA) -e 'io.write(_VERSION:match "[%d.]+")' 2>/dev/null),5.4)
LUA_INCDIR ?= /usr/include/lua$(LUA_V)
# By its path: some of the suite's own processes have another PATH.
BUSTED ?= busted --lua=$(shell command -v $(LUA))

PREFIX ?= /usr/local
# Not every shell knows that a ~ stands there for the home directory.
override PREFIX := $(PREFIX:~/%=$(HOME)/%)
LIBDIR ?= $(PREFIX)/lib
LUA_CMOD ?= $(LIBDIR)/lua/$(LUA_V)
INCLUDEDIR ?= $(PREFIX)/include
BINDIR ?= $(PREFIX)/bin
DATADIR ?= $(PREFIX)/share
# The driver looks below its own directory and the two above.
LIBEXECDIR ?= $(PREFIX)/libexec
INSTALL ?= install
OBJCOPY ?= objcopy

WARNINGS := -Wall -Wextra -Wshadow -Wconversion -Wstrict-prototypes \
  -Wmissing-prototypes -Wpointer-arith
ifeq ($(WERROR),1)
WARNINGS += -Werror
endif

# What every C file is compiled with, whatever CFLAGS says.
COMPILE := -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -pthread \
  $(WARNINGS) -DLZE_VERSION='"$(VERSION)"' -Iinclude -Icommon -Ispirv -Icompiler
LINK := -pthread
# The archive's symbols stay inside; its C++ runtime is the system's, which
# needs no compiler of C++.
LIBS := -Wl,--exclude-libs,ALL -lSPIRV-Tools \
  -l:libstdc++.so.6 -ldl -lpthread -lm

ifneq ($(V),1)
Q := @
endif

ifdef SANITIZE
SANITIZERS := -fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
  -fno-omit-frame-pointer
COMPILE += $(SANITIZERS)
# What is reported at exit can be named only while the code is still mapped.
LINK += -fsanitize=$(SANITIZE) -Wl,-z,nodelete
else
DEFS := -Wl,-z,defs
endif

# ---------------------------------------------------------------------------
# Sources

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard $(1)))
COMMON := $(call objects,common/*.c) $(call objects,spirv/*.c)
SRC := $(call objects,src/*.c) $(call objects,src/*/*.c) \
  $(call objects,compiler/*.c)
COMPILER := $(call objects,compiler/*.c)
DRIVER := $(call objects,driver/*.c) $(call objects,driver/*/*.c)
MPI := $(call objects,mpi/*.c)
MPI_TEXT := $(BUILD)/obj/mpi/mpi.h
EMBEDDED := $(patsubst %.lua,$(BUILD)/obj/%.h,$(wildcard lua/*.lua)) \
  $(BUILD)/obj/doc/manual.h
MAP := $(wildcard driver/libze_opencl.map)

# Parts without Lua and without a driver; the C tests outside spec/driver link
# with these.
PURE := $(COMMON) $(COMPILER) \
  $(call objects,src/run/lze_group.c src/run/lze_learn.c)

TESTS := $(patsubst %.c,$(BUILD)/%,$(wildcard spec/*/*_test.c))
HOST := $(BUILD)/spec/host
FAULT := $(BUILD)/spec/ze_fault.so
NATIVE := $(BUILD)/spec/native.so
OCLOC := $(BUILD)/spec/libocloc.so
LZC := $(BUILD)/spec/lzc.so
FAKE := $(BUILD)/spec/mpi_fake.so
OPEN := $(BUILD)/spec/ze_open.so
GPU := $(BUILD)/spec/libpocl_gpu.so
MISUSE := $(BUILD)/spec/misuse
# What specs load.
LIBRARIES := $(FAULT) $(NATIVE) $(OCLOC) $(LZC) $(FAKE) $(GPU)
FUZZ := $(BUILD)/spec/common/spirv_fuzz

HELPER := $(BUILD)/libexec/lze/lze-build
# For editors.
TYPES := $(BUILD)/types/lze.lua
TARGETS := $(BUILD)/lze.so $(BUILD)/lze/mpi.so $(BUILD)/liblze.a \
  $(BUILD)/libze_opencl.so $(HELPER) $(TYPES)
# Programs that embed Lua and lze, for users to copy.
EMBED := $(patsubst %.c,$(BUILD)/%,$(wildcard examples/embed/*.c))

all: $(TARGETS) ## build the module, the driver and its helper (the default)

# Lua closes a module with its state, but what the drivers were found to be
# belongs to the process, and so must stay: nodelete.
$(BUILD)/lze.so: $(SRC) $(COMMON) src/lze.map
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LINK) -Wl,-z,nodelete \
	  -Wl,--version-script=src/lze.map $(LDFLAGS) \
	  -o $@ $(filter %.o,$^) $(LIBS)

# What ends MPI runs at the end of the process, after the states: nodelete.
$(BUILD)/lze/mpi.so: $(MPI)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LINK) -Wl,-z,nodelete $(LDFLAGS) -o $@ $^ -ldl

# One object, so that nothing but the documented names is global in a program
# that is linked with it.
$(BUILD)/liblze.a: $(SRC) $(COMMON)
	@echo "  AR   $@"
	$(Q)$(LD) -r -o $(BUILD)/obj/liblze.o $^
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/obj/liblze.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(BUILD)/obj/liblze.o

# The loader closes drivers at exit, when threads of OpenCL may still run:
# nodelete keeps the code mapped.
$(BUILD)/libze_opencl.so: $(DRIVER) $(COMMON) $(MAP)
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LINK) $(DEFS) -Wl,-z,nodelete \
	  -Wl,-soname,libze_opencl.so $(MAP:%=-Wl,--version-script=%) \
	  $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

# The driver's own code, so that it does what the driver would do.
$(HELPER): $(BUILD)/obj/libexec/lze-build.o $(DRIVER) $(COMMON) \
  libexec/lze-build.list
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK) \
	  -Wl,--dynamic-list=libexec/lze-build.list \
	  $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIBS)

$(BUILD)/obj/driver/%.o $(BUILD)/obj/libexec/%.o: INCLUDES = -Idriver
$(BUILD)/obj/src/%.o: INCLUDES = -Isrc -I$(BUILD)/obj -I$(LUA_INCDIR)
$(BUILD)/obj/mpi/%.o: INCLUDES = -I$(BUILD)/obj -I$(LUA_INCDIR)
$(BUILD)/obj/spec/%.o: INCLUDES = -Isrc -Idriver -I$(LUA_INCDIR) \
  -DLUA_COMMAND='"$(LUA)"'
$(BUILD)/obj/bench/%.o: INCLUDES = -Iinclude -I$(LUA_INCDIR)

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(BUILD)/found
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(COMPILE) $(INCLUDES) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# Lua and the manual, which are parts of the module, as the bytes of C arrays;
# of comments in Lua the line is kept.
$(SRC): | $(EMBEDDED)
$(BUILD)/obj/doc/manual.h: doc/manual.md
$(filter $(BUILD)/obj/lua/%,$(EMBEDDED)): $(BUILD)/obj/lua/%.h: lua/%.lua
$(MPI): | $(MPI_TEXT)
$(MPI_TEXT): mpi/mpi.lua
$(EMBEDDED) $(MPI_TEXT):
	@mkdir -p $(@D)
	@echo "  TEXT $<"
	$(Q)sed '$(if $(filter %.lua,$<),s/^ *--$$//; s/^ *-- .*//)' $< | \
	  od -An -v -tu1 | sed 's/[0-9][0-9]*/&,/g' >$@

$(TYPES): doc/manual.md scripts/annotations | $(BUILD)/found
	@mkdir -p $(@D)
	@echo "  TEXT $@"
	$(Q)$(LUA) scripts/annotations $< >$@.new && mv $@.new $@

# Objects are compiled anew when the flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@new=`printf '%s\n' "$$FLAGS"`; \
	if [ "$$new" != "`cat $@ 2>/dev/null`" ]; then \
	  printf '%s\n' "$$new" >$@; \
	fi
$(BUILD)/flags: export FLAGS = $(CC) $(COMPILE) -I$(LUA_INCDIR) $(CPPFLAGS) \
  $(CFLAGS)

# What is needed to compile was found; `make` alone installs nothing.
$(BUILD)/found: scripts/check-needs
	@mkdir -p $(@D)
	@CC="$(CC)" CPPFLAGS="$(CPPFLAGS) -I$(LUA_INCDIR)" LUA="$(LUA)" \
	  LUA_V="$(LUA_V)" sh scripts/check-needs
	@touch $@

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
-include kernels/rules.mk

# ---------------------------------------------------------------------------
# Running

WITH := sh scripts/with-build $(BUILD)

demo: ## install what is missing, build, list the devices, run three examples
	@sh scripts/packages build run
	@$(MAKE) --no-print-directory all
	@$(WITH) sh scripts/demo $(LUA)

test: ## install what is missing, build and run the whole suite
	@sh scripts/packages build run test
	@$(MAKE) --no-print-directory check

build-tests: $(TESTS) $(EMBED) $(HOST) $(FUZZ) $(LIBRARIES) $(OPEN) $(MISUSE)
build-tests: ## build the suite's C programs

check: all $(TESTS) $(EMBED) $(HOST) $(LIBRARIES)
check: ## run the suite, or SPECS, installing nothing
	$(WITH) sh scripts/run-tests $(BUSTED) $(SPECS)

# A part of each area, for whoever is about to commit.
FAST_SPECS := $(patsubst %,spec/%_spec.lua,access await buffer core error \
  event graph guard kernel layers module_spirv pin queue share stride types)
FAST_TESTS := $(patsubst %,spec/driver/%_test,saxpy memory event kernel list) \
  spec/common/*_test spec/compiler/*_test
check-fast: all $(TESTS) $(LIBRARIES)
check-fast: ## a part of the suite, in less than a minute
	LZE_TEST_CACHE=$(BUILD)/cache.kept LZE_TEST_C="$(FAST_TESTS)" \
	  $(WITH) sh scripts/run-tests $(BUSTED) $(FAST_SPECS)

# Not those that take longest: they build hundreds of kernels and their code is
# all Lua, or they start hundreds of processes.  MOST_SPECS=spec is all of them.
MOST_SPECS ?= $(filter-out $(patsubst %,spec/%_spec.lua, \
  array_index array_linear array_order array_property array_random \
  array_reduce array_signal compiler/oracle environment examples fault hostile \
  manual mpi),$(wildcard spec/*_spec.lua spec/*/*_spec.lua))

check-host: all build-tests ## most of the suite inside a minimal C host program
	$(WITH) sh scripts/run-tests $(HOST) $(MOST_SPECS)

PYTHON ?= /usr/bin/python3
check-numpy: all ## arrays beside NumPy's; LZE_NUMPY=types, PYTHON=python3
	PYTHON=$(PYTHON) $(WITH) $(BUSTED) spec/numpy.lua spec/array_file_spec.lua

check-page: all build-tests ## a profile's page in a browser; BROWSER=chromium
	LZE_TEST_C=none LZE_TEST_BROWSER=$(or $(BROWSER),chromium) \
	  $(WITH) sh scripts/run-tests $(BUSTED) spec/timeline_spec.lua

SUPPRESSIONS := $(CURDIR)/spec/support/lsan.supp
# LLVM gives threads signal stacks that ASan would unmap as if they were its
# own.  GCC 12's LeakSanitizer takes what stands before a library's thread-local
# memory for its place and size, which is no longer so, and may die of it.
check-asan: ## most of the suite, and damaged SPIR-V, under ASan and UBSan
	LZE_SWEEP=first \
	ASAN_OPTIONS="use_sigaltstack=0 intercept_tls_get_addr=0" \
	LSAN_OPTIONS="print_suppressions=0 suppressions=$(SUPPRESSIONS)" \
	  $(MAKE) check-host check-fuzz SECONDS=60 BUILD=build/asan \
	  MOST_SPECS="$(MOST_SPECS) spec/fault_spec.lua spec/hostile_spec.lua" \
	  SANITIZE=address,undefined CFLAGS="-O1 -g"

# How long, and from which seed on.
SECONDS ?= 120
SEED ?= 1
RULES := $(abspath $(BUILD))/fuzz.rules
check-fuzz: export LZE_TEST_CACHE =
check-fuzz: all $(FUZZ) $(HOST) $(LIBRARIES)
check-fuzz: ## damaged SPIR-V, random calls; SECONDS, SEED
	$(FUZZ) $(SEED) 10000 kernels/*.spv
	$(WITH) $(HOST) --script spec/fuzz/modules.lua $$(($(SECONDS) / 3)) $(SEED)
	$(WITH) $(HOST) --script spec/fuzz/calls.lua $$(($(SECONDS) / 3)) $(SEED)
	$(WITH) $(HOST) --script spec/fuzz/ranges.lua $$(($(SECONDS) / 3)) $(SEED)
	: >$(RULES)
	ZE_ENABLE_ALT_DRIVERS=$(abspath $(BUILD))/spec/ze_fault.so \
	  ZE_FAULT_DRIVER=$(abspath $(BUILD))/libze_opencl.so \
	  ZE_FAULT_CONTROL=$(RULES) \
	  $(WITH) $(HOST) --script spec/fuzz/calls.lua $$(($(SECONDS) / 3)) $(SEED)

check-c: all build-tests ## the C tests alone
	$(WITH) sh scripts/run-tests true

# Where threads meet: those of the driver, of programs, of Lua states.
THREADED := spec/states/states_test $(patsubst %,spec/driver/%_test,module \
  append asking counter event graph hierarchy ipc kernel list memory mutable \
  pointer) spec/embed/capi_test
check-tsan: ## the C tests in which threads meet, under TSan
	TSAN_OPTIONS="suppressions=$(CURDIR)/spec/support/tsan.supp" \
	LZE_TEST_C="$(THREADED)" \
	$(MAKE) check-c BUILD=build/tsan SANITIZE=thread CFLAGS="-O1 -g"

check-exit: all build-tests ## 200 exits with work in flight, on a cold cache
	ZE_ENABLE_ALT_DRIVERS="$(abspath $(BUILD))/libze_opencl.so" \
	  $(WITH) $(BUILD)/spec/driver/hostile_test exits 200

# The specs that need few kernels: valgrind shows PoCL another processor, for
# which it compiles each of them anew, in many seconds.
VALGRIND := valgrind -q --error-exitcode=9 --num-callers=24 --leak-check=full \
  --errors-for-leak-kinds=definite --show-leak-kinds=definite \
  --suppressions=spec/support/valgrind.supp
VALGRIND_SPECS := spec/buffer_spec.lua spec/types_spec.lua
check-valgrind: all build-tests ## some specs under valgrind
	HWLOC_COMPONENTS=-x86 LZE_BUILD_SECONDS=0 $(WITH) timeout 900 \
	  $(VALGRIND) $(HOST) --exclude-tags=undefined $(VALGRIND_SPECS)

# Parameters only: the handle-lifetime checker does nothing in loader 1.8 and
# takes immediate command lists for closed ones in 1.20 and 1.32.
# The layer of loader 1.8 refuses flags and formats that are newer than it;
# asking_test runs tests that use them.  Left out is, too, what makes garbage for
# minutes where the collector runs all the time, or takes long to give the driver
# the same calls again.
NEWER := $(patsubst %,spec/driver/%_test,asking counter graph kernel link \
  mutable virtual)
AGAIN := spec/driver/server_test spec/states/memory_test \
  $(patsubst %,spec/%_spec.lua,array_file bin compile compiler/opcode debugging \
  regress/plan_given_in_part telemetry trace)
check-validation: all $(TESTS) $(EMBED) $(LIBRARIES)
check-validation: ## most of the suite under the loader's validation layer
	LZE_TEST_C="$(filter-out $(NEWER) $(AGAIN),$(TESTS:$(BUILD)/%=%))" \
	ZE_ENABLE_VALIDATION_LAYER=1 ZE_ENABLE_PARAMETER_VALIDATION=1 \
	$(WITH) sh scripts/run-tests $(BUSTED) --filter-out=source \
	  $(filter-out $(AGAIN),$(MOST_SPECS))

check-lifetime: ## specs under the checkers of a loader of 1.32 in LOADER=dir
	BUSTED="$(BUSTED)" sh scripts/check-lifetime "$(LOADER)"

# A CPU stands for a device whose memory only its OpenCL may touch.  Not the
# tests of builds, for which memory is no matter; WAY_SPECS=spec is all specs.
WAY ?= svm
WAY_SPECS ?= $(patsubst %,spec/%_spec.lua,buffer event graph graph_transfer \
  kernel queue wrap)
check-memory: all $(TESTS) $(EMBED) $(LIBRARIES)
check-memory: ## the driver's tests and some specs, memory by WAY=svm or usm
	LZE_TEST_C="$(filter-out %/build_test %/server_test,$(filter \
	  spec/driver/%,$(TESTS:$(BUILD)/%=%)))" \
	ZOCL_MEMORY=$(WAY) ZOCL_NATIVE_KERNELS=0 $(WITH) sh scripts/run-tests \
	  $(BUSTED) $(WAY_SPECS)

check-testing: ## specs with what Debian testing has; CHECKS, SPECS=spec for all
	SPECS="$(SPECS)" sh scripts/in-testing $(CHECKS)

check-intel: all build-tests ## specs on Intel's OpenCL for CPUs; SPECS=spec for all
	SPECS="$(SPECS)" sh scripts/check-intel

check-debian13: ## the demo and specs in a chroot of Debian 13; SPECS=spec for all
	$(if $(SPECS),,LZE_TEST_C="$(filter-out $(AGAIN),$(TESTS:$(BUILD)/%=%))") \
	SPECS="$(or $(SPECS),$$(sh scripts/opencl-specs) spec/compile_spec.lua)" \
	  sh scripts/check-debian13

# LZT_TESTS are some of the parts that scripts/conformance lists.
conformance: all ## Intel's level-zero-tests, as installed in LZT=dir
	ZE_ENABLE_ALT_DRIVERS="$(abspath $(BUILD))/libze_opencl.so" \
	  $(WITH) $(LUA) scripts/conformance "$(LZT)" $(LZT_TESTS)

# What is tried in hours instead of samples of it: each call and allocation that
# may fail, and random functions, arrays and graphs.
MANY ?= 20
check-long: all build-tests
check-long: ## what takes hours: MANY times what is random, from SEED on
	$(WITH) $(BUILD)/spec/compiler/lzc_test 1000000
	LZE_BUILD_SECONDS=0 LZE_ORACLE=$(SEED):$$(($(MANY) * 100)) \
	  $(WITH) $(BUSTED) --filter=random spec/compiler/oracle_spec.lua
	LZE_ARRAY_CASES=$(MANY) LZE_ARRAY_SEED=$(SEED) \
	  $(WITH) $(BUSTED) spec/array_property_spec.lua
	PYTHON=$(PYTHON) \
	LZE_NUMPY="half float double char uchar short ushort int uint long ulong" \
	  $(WITH) $(BUSTED) spec/numpy.lua
	LZE_TEST_GRAPHS=$$(($(MANY) * 100)) LZE_TEST_SEED=$(SEED) \
	  $(WITH) $(BUSTED) spec/graph_random_spec.lua
	LZE_TEST_RANGES=$$(($(MANY) * 10)) LZE_TEST_SEED=$(SEED) \
	  LZE_TEST_LARGE=1 $(WITH) $(BUSTED) spec/range_spec.lua
	LZE_SWEEP=full $(WITH) $(BUSTED) spec/fault_spec.lua
	$(WITH) $(BUILD)/spec/states/memory_test 0
	sh scripts/check-debian13

check-lua54: all build-tests ## kernels in Lua in other interpreters: LUAS="..."
	$(WITH) sh scripts/check-lua54 $(LUAS)

check-exports: all ## nothing but the documented names is exported
	sh scripts/check-exports $(BUILD)

check-docs: all ## the manual says what there is, no more
	$(WITH) $(LUA) scripts/check-docs
	sh scripts/check-ze

check-lint: all
check-lint: ## luacheck, cppcheck, shellcheck, the storeys of src/ and driver/
	sh scripts/check-lint
	sh scripts/check-layers $(BUILD)

bench: all $(BUILD)/bench/baseline.so ## group sizes; BENCH="--quick" and so on
	$(WITH) $(LUA) bench/suite.lua $(BENCH)

HALF ?= tuned
bench-ranges: all ## the group rule beside a search; HALF=tuned, held-out, all
	$(WITH) $(LUA) bench/ranges.lua $(HALF) $(ROUNDS)

bench-dist: all $(BUILD)/bench/baseline.so ## that as a tarball for elsewhere
	sh scripts/bench-dist $(BUILD)

bench-costs: all $(BUILD)/bench/launch $(BUILD)/bench/values ## what lze costs
	$(WITH) $(BUILD)/bench/launch
	$(WITH) $(BUILD)/bench/values

bench-graph: all $(BUILD)/bench/clocks ## what runs of plans cost
	$(WITH) $(BUILD)/bench/clocks bench/graph.lua $(ROUNDS)
	ZOCL_SUB_DEVICES=2 ZE_FLAT_DEVICE_HIERARCHY=FLAT \
	  $(WITH) $(BUILD)/bench/clocks bench/graph.lua branches

bench-lua-kernels: all ## kernels in Lua beside the same in OpenCL C
	$(WITH) $(LUA) bench/lua_kernels.lua $(ROUNDS)

bench-arrays: all $(BUILD)/bench/reductions.so ## reductions beside memcpy and C
	$(WITH) $(LUA) bench/arrays.lua $(ROUNDS)
bench-arrays-peers: all $(BUILD)/bench/reductions.so ## NumPy's, pyopencl's
	PYTHON=$(PYTHON) $(WITH) $(LUA) bench/arrays_peers.lua $(ROUNDS)
bench-arrays-order: all $(BUILD)/bench/order ## sorting arrays beside C
	$(WITH) $(BUILD)/bench/order bench/arrays_order.lua $(ROUNDS)
bench-by-hand: all $(BUILD)/bench/baseline.so $(BUILD)/bench/reductions.so
bench-by-hand: ## the sum, scan and histogram of kernels/ beside C
	$(WITH) $(LUA) bench/by_hand.lua $(ROUNDS)
bench-arrays-linear: all $(BUILD)/bench/clocks ## products of matrices
	$(WITH) $(BUILD)/bench/clocks bench/arrays_linear.lua $(ROUNDS)

MPICC ?= mpicc
MPIRUN ?= mpirun
bench-mpi: all $(BUILD)/bench/mpi_raw.so ## lze.mpi beside MPI; MPICC= MPIRUN=
	LZE_BENCH_BUILD=$(BUILD) $(WITH) $(MPIRUN) -n 2 $(LUA) bench/mpi.lua $(ROUNDS)
bench-mpi-weak: all $(BUILD)/bench/clocks ## more ranks, by a model of messages
	$(WITH) $(BUILD)/bench/clocks bench/mpi_weak.lua $(ROUNDS)

bench-compile: all $(BUILD)/bench/clocks ## what getting a kernel ready costs
	$(WITH) $(BUILD)/bench/clocks bench/compile.lua $(ROUNDS)

bench-first: all $(BUILD)/bench/clocks ## how long one waits at first; BASE=dir
	BASE='$(BASE)' BASE_ENV='$(BASE_ENV)' \
	  $(WITH) $(BUILD)/bench/clocks bench/first.lua $(ROUNDS)

bench-page: ## a page of a million events; BROWSER=chromium
	$(LUA) bench/page.lua 1000000 $(BROWSER)

bench-driver: all $(BUILD)/bench/driver ## what the driver costs
	ZE_ENABLE_ALT_DRIVERS="$(abspath $(BUILD))/libze_opencl.so" \
	  $(WITH) $(BUILD)/bench/driver $(ROUNDS)

bench-instructions: all $(BUILD)/bench/launch $(BUILD)/bench/plan
bench-instructions: ## our instructions
	$(WITH) sh bench/instructions $(BUILD) $(LUA)

# What is linked as a program with lze.pc would be.
$(BUILD)/obj/examples/%.o: INCLUDES = -I$(LUA_INCDIR)
LINK_EMBED = $(CC) $(LINK) -rdynamic $(LDFLAGS) -o $@ $(filter %.o,$^) \
  $(BUILD)/liblze.a $(LIBS) -llua$(LUA_V) -lze_loader
$(BUILD)/spec/embed/%_test: $(BUILD)/obj/spec/embed/%_test.o $(BUILD)/liblze.a
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(LINK_EMBED)

$(BUILD)/examples/embed/%: $(BUILD)/obj/examples/embed/%.o $(BUILD)/liblze.a
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(LINK_EMBED)

$(BUILD)/spec/driver/%_test: $(BUILD)/obj/spec/driver/%_test.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK) $(LDFLAGS) -o $@ $^ -lze_loader -ldl -lpthread -lm

$(BUILD)/spec/%_test: $(BUILD)/obj/spec/%_test.o $(PURE)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(LIBS)

# They ask the validator, or write modules.
READING := $(patsubst %,$(BUILD)/spec/driver/%_test,guard mutant)
$(READING): $(BUILD)/spec/driver/%: $(BUILD)/obj/spec/driver/%.o $(COMMON)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK) $(LDFLAGS) -o $@ $^ -lze_loader $(LIBS)

# Programs that embed Lua; they find the module as any script does.
$(BUILD)/spec/states/%_test: $(BUILD)/obj/spec/states/%_test.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK) -rdynamic $(LDFLAGS) -o $@ $^ -llua$(LUA_V) -ldl -lm

# It includes the reader rather than being linked with it.
$(FUZZ): $(BUILD)/obj/spec/common/spirv_fuzz.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK) $(LDFLAGS) -o $@ $^ $(LIBS)

$(HOST): $(BUILD)/obj/spec/support/host.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK) -rdynamic $(LDFLAGS) -o $@ $^ -llua$(LUA_V) -ldl -lm

$(FAULT): $(patsubst %,$(BUILD)/obj/spec/support/%.o,ze_fault ze_sysman)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LINK) $(DEFS) $(LDFLAGS) -o $@ $^ -ldl

$(NATIVE): $(BUILD)/obj/spec/support/native.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LINK) $(LDFLAGS) -o $@ $^ -lze_loader

$(LZC): $(BUILD)/obj/spec/support/lzc_lua.o $(COMPILER) $(COMMON)
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LINK) $(LDFLAGS) -o $@ $^ $(LIBS)

$(OCLOC): $(BUILD)/obj/spec/support/ocloc_fake.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LINK) $(DEFS) $(LDFLAGS) -o $@ $^

$(FAKE): $(BUILD)/obj/spec/support/mpi_fake.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LINK) $(DEFS) $(LDFLAGS) -o $@ $^

$(OPEN): $(BUILD)/obj/spec/support/ze_open.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LINK) $(DEFS) $(LDFLAGS) -o $@ $^ -ldl

$(GPU): $(BUILD)/obj/spec/support/cl_gpu.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) -shared $(LINK) $(DEFS) $(LDFLAGS) -o $@ $^ -ldl

$(MISUSE): $(BUILD)/obj/spec/support/misuse.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK) $(LDFLAGS) -o $@ $^ -lze_loader

# Only here does anything need MPI's header.
$(BUILD)/bench/mpi_raw.so: bench/mpi_raw.c FORCE # another MPICC may follow
	@mkdir -p $(@D)
	@echo "  MPICC $<"
	$(Q)$(MPICC) -shared -fPIC -O2 -I$(LUA_INCDIR) -o $@ $<

# The kernels' own OpenCL C is compiled as C, with what is not C defined away.
$(BUILD)/bench/baseline.so: bench/baseline.c $(KERNEL_SOURCES) $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC   $@"
	$(Q)$(CC) -std=gnu11 -O3 -ffp-contract=off -Wall -Wno-unknown-pragmas \
	  -Wno-attributes -Wno-unused-function -fPIC -shared -I$(LUA_INCDIR) \
	  $(CPPFLAGS) $(LDFLAGS) -o $@ bench/baseline.c -lm

$(BUILD)/bench/reductions.so: bench/reductions.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo "  CC   $@"
	$(Q)$(CC) -std=gnu11 -O3 -Wall -Wextra -fPIC -shared -I$(LUA_INCDIR) \
	  $(CPPFLAGS) $(LDFLAGS) -o $@ bench/reductions.c

$(BUILD)/bench/%: $(BUILD)/obj/bench/%.o
	@mkdir -p $(@D)
	@echo "  LINK $@"
	$(Q)$(CC) $(LINK) -rdynamic $(LDFLAGS) -o $@ $^ -lze_loader -l:libOpenCL.so.1 \
	  -llua$(LUA_V) -ldl -lm

# ---------------------------------------------------------------------------
# Installing

HEADERS := $(wildcard include/*.h)
# What programs and their authors read: below share/lze/, and the manual below
# share/doc/lze/. The suite's own kernels stay.
SHARED := $(wildcard command/*.lua) \
  $(filter-out kernels/spec.%,$(wildcard kernels/*.cl kernels/*.spv)) \
  $(wildcard examples/*.lua examples/*/*.lua examples/embed/*.c)
DOCS := doc/manual.md doc/timeline.png doc/halo.png README.md CHANGELOG.md \
  LICENSE

install: all ## install below $(DESTDIR)$(PREFIX)
	$(INSTALL) -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LUA_CMOD) \
	  $(DESTDIR)$(LIBDIR)
	sed '1s|lua5\.4|lua$(LUA_V)|' bin/lze >$(DESTDIR)$(BINDIR)/lze
	chmod 755 $(DESTDIR)$(BINDIR)/lze
	$(INSTALL) -m 755 $(BUILD)/lze.so $(DESTDIR)$(LUA_CMOD)/lze.so
	$(INSTALL) -D -m 755 $(BUILD)/lze/mpi.so $(DESTDIR)$(LUA_CMOD)/lze/mpi.so
	$(INSTALL) -m 755 $(BUILD)/libze_opencl.so \
	  $(DESTDIR)$(LIBDIR)/libze_opencl.so
	$(INSTALL) -m 644 $(BUILD)/liblze.a $(DESTDIR)$(LIBDIR)/liblze.a
	$(INSTALL) -d $(DESTDIR)$(LIBDIR)/pkgconfig
	sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|' \
	  -e 's|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' \
	  -e 's|@LUA@|$(LUA_V)|' lze.pc.in \
	  >$(DESTDIR)$(LIBDIR)/pkgconfig/lze.pc
	$(INSTALL) -d $(DESTDIR)$(LIBEXECDIR)/lze
	$(INSTALL) -m 755 $(HELPER) $(DESTDIR)$(LIBEXECDIR)/lze/lze-build
ifneq ($(HEADERS),)
	$(INSTALL) -d $(DESTDIR)$(INCLUDEDIR)
	$(INSTALL) -m 644 $(HEADERS) $(DESTDIR)$(INCLUDEDIR)
endif
	for file in $(SHARED); do \
	  $(INSTALL) -D -m 644 $$file $(DESTDIR)$(DATADIR)/lze/$$file || exit; \
	done
	$(INSTALL) -D -m 644 $(TYPES) $(DESTDIR)$(DATADIR)/lze/types/lze.lua
	for file in $(DOCS); do $(INSTALL) -D -m 644 $$file \
	  $(DESTDIR)$(DATADIR)/doc/lze/$${file##*/} || exit; done
	$(INSTALL) -D -m 644 driver/README.md \
	  $(DESTDIR)$(DATADIR)/doc/lze/driver/README.md
	sed 's|(\.\./driver/|(driver/|g' doc/manual.md \
	  >$(DESTDIR)$(DATADIR)/doc/lze/manual.md
	if command -v cmark-gfm >/dev/null; then \
	  { echo '<!doctype html><meta charset="utf-8"><title>lze</title>'; \
	    cmark-gfm --extension table \
	      $(DESTDIR)$(DATADIR)/doc/lze/manual.md; } \
	    >$(DESTDIR)$(DATADIR)/doc/lze/manual.html; fi
	@case "`env -u LUA_CPATH -u LUA_CPATH_$(subst .,_,$(LUA_V)) $(LUA) \
	    -e 'print(package.cpath)' 2>/dev/null`" in \
	  *'$(LUA_CMOD)/?.so'*) ;; \
	  *) echo 'Lua does not look there by itself. Set in your shell:'; \
	    echo '  export LUA_CPATH="$(LUA_CMOD)/?.so;;"' ;; \
	esac

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(BINDIR)/lze $(DESTDIR)$(LUA_CMOD)/lze.so \
	  $(DESTDIR)$(LUA_CMOD)/lze/mpi.so $(DESTDIR)$(LIBDIR)/libze_opencl.so \
	  $(DESTDIR)$(LIBEXECDIR)/lze/lze-build $(DESTDIR)$(LIBDIR)/liblze.a \
	  $(DESTDIR)$(LIBDIR)/pkgconfig/lze.pc \
	  $(patsubst include/%,$(DESTDIR)$(INCLUDEDIR)/%,$(HEADERS))
	rm -rf $(DESTDIR)$(DATADIR)/lze $(DESTDIR)$(DATADIR)/doc/lze
	for dir in $(DESTDIR)$(LIBEXECDIR)/lze $(DESTDIR)$(LUA_CMOD)/lze; do \
	  [ ! -d $$dir ] || rmdir --ignore-fail-on-non-empty $$dir; done

clean: ## remove everything that was built
	rm -rf $(BUILD)

help: ## this list
	@sed -n 's/^\([a-z0-9-]*\):[^#]*## \(.*\)/\1 - \2/p' $(MAKEFILE_LIST) \
	  | sed 's/^/  make /'

FORCE:
.SECONDARY:
.PHONY: all demo test build-tests check check-fast check-host check-numpy \
  check-page check-long check-asan check-fuzz check-c check-tsan check-exit \
  check-valgrind check-validation check-debian13 check-intel check-testing \
  check-memory check-lifetime check-lua54 check-exports check-docs \
  check-lint conformance bench bench-arrays bench-arrays-linear \
  bench-arrays-order bench-arrays-peers bench-by-hand bench-compile bench-costs \
  bench-driver bench-dist bench-first bench-graph bench-instructions \
  bench-lua-kernels bench-mpi bench-mpi-weak bench-page bench-ranges install \
  uninstall clean help FORCE
