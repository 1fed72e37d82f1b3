# rules.mk - the SPIR-V of the repository from its sources.
# SPDX-License-Identifier: MIT
#
# The top Makefile includes this.  The *.spv are tracked, so that nobody needs
# a compiler to use them; they are made by clang 15 and llvm-spirv 15, or by
# spirv-as from a *.spvasm.
#   make kernels         rebuilds them in place, with those or nothing
#   make check-kernels   rebuilds them below $(BUILD) with the newest pair there
#                        is, validates both and, where the pair is 15, compares

BUILD ?= build
KERNEL_DIRS := kernels bench/kernels spec/driver/kernels
KERNEL_NAMES := $(basename $(wildcard $(KERNEL_DIRS:%=%/*.cl)))
ASM_NAMES := $(basename $(wildcard $(KERNEL_DIRS:%=%/*.spvasm)))
# Of these, in another OpenCL C than 1.2.
KERNEL_NAMES_20 := $(addprefix spec/driver/kernels/,globals importer exporter \
  address generic)
KERNEL_LLVM := 15

# A clang and an llvm-spirv of one LLVM; an old pair is preferred because its
# typed pointers tell a reader what an argument points to.
KERNEL_PAIR = $(firstword $(foreach v,15 16 17 18 19 20 21 22,$(if $(and \
  $(shell command -v clang-$v 2>/dev/null),\
  $(shell command -v llvm-spirv-$v 2>/dev/null)),$v)))
CLANG ?= clang-$(KERNEL_PAIR)
LLVM_SPIRV ?= llvm-spirv-$(KERNEL_PAIR)
SPIRV_VAL ?= spirv-val
SPIRV_AS ?= spirv-as

# -O0 because clang's optimised code makes llvm-spirv fail or write modules
# that do not validate; without optnone, so that the device's own compiler
# optimises them.  Names and types of arguments are kept for whoever calls the
# kernel.  No path enters the module, so it is the same wherever it is built.
KERNEL_CFLAGS := -x cl -target spir64 -emit-llvm -c -O0 \
  -Xclang -disable-O0-optnone -cl-kernel-arg-info \
  -fno-discard-value-names
KERNEL_SPIRVFLAGS := --spirv-max-version=1.2 \
  --preserve-ocl-kernel-arg-type-metadata-through-string

# $(call build-kernels,CLANG,LLVM_SPIRV,DIRECTORY): below DIRECTORY.
define build-kernels
	@mkdir -p $(KERNEL_DIRS:%=$(BUILD)/spirv/%) $(KERNEL_DIRS:%=$3/%)
	@set -e; for k in $(KERNEL_NAMES); do \
	  echo "  SPIRV $3/$$k.spv"; \
	  case " $(KERNEL_NAMES_20) " in \
	  *" $$k "*) std=CL2.0 ;; *) std=CL1.2 ;; esac; \
	  $1 $(KERNEL_CFLAGS) -cl-std=$$std -o $(BUILD)/spirv/$$k.bc $$k.cl; \
	  $2 $(KERNEL_SPIRVFLAGS) -o $3/$$k.spv $(BUILD)/spirv/$$k.bc; \
	done; for k in $(ASM_NAMES); do \
	  echo "  SPIRV $3/$$k.spv"; \
	  $(SPIRV_AS) --target-env spv1.0 -o $3/$$k.spv $$k.spvasm; \
	done
endef

# $(call validate-kernels,DIRECTORY): each for OpenCL 2.2, and those of OpenCL
# C 1.2 for that, too.
define validate-kernels
	@set -e; for k in $(KERNEL_NAMES) $(ASM_NAMES); do \
	  case " $(KERNEL_NAMES_20) " in *" $$k "*) old= ;; *) old=1.2 ;; esac; \
	  for target in $$old 2.2; do \
	    $(SPIRV_VAL) --target-env opencl$$target $1/$$k.spv; \
	  done; \
	done
endef

.PHONY: kernels check-kernels
kernels: ## rebuild the tracked *.spv with clang 15 and llvm-spirv 15
	$(call build-kernels,clang-$(KERNEL_LLVM),llvm-spirv-$(KERNEL_LLVM),.)
	$(call validate-kernels,.)

check-kernels: ## rebuild them in the build directory, validate, compare
	$(call validate-kernels,.)
	$(call build-kernels,$(CLANG),$(LLVM_SPIRV),$(BUILD)/rebuilt)
	$(call validate-kernels,$(BUILD)/rebuilt)
	@set -e; case "$$($(CLANG) --version | head -n 1) $$($(LLVM_SPIRV) \
	    --version | sed -n 's/.*LLVM version //p')" in \
	*"version $(KERNEL_LLVM)."*" $(KERNEL_LLVM)."*) \
	  for k in $(KERNEL_NAMES) $(ASM_NAMES); do \
	    cmp $$k.spv $(BUILD)/rebuilt/$$k.spv; \
	  done; \
	  echo "kernels: $(words $(KERNEL_NAMES) $(ASM_NAMES)) rebuilt," \
	    "identical" ;; \
	*) echo "kernels: $(words $(KERNEL_NAMES) $(ASM_NAMES)) rebuilt and" \
	     "valid (another compiler than $(KERNEL_LLVM): not compared)" ;; \
	esac
