# Makefile - builds, installs and removes lze and its driver.
# SPDX-License-Identifier: MIT
#
# `make help` lists the targets; spec/rules.mk has the suite's, bench/Makefile
# the benchmarks'.  Variables for the command line:
#   BUILD=dir         the directory for everything that is built; several builds
#                     may exist side by side (BUILD=build/asan)
#   SANITIZE=list     sanitizers to compile and link in: address,undefined ...
#   WERROR=1          warnings are errors
#   V=1               show the commands that compile and link, and each file
#                     that is installed
#   PREFIX, DESTDIR   as usual, for install and uninstall
#   ADVICE=no         install prints no advice on shell variables
#   LUA=lua5.5        the interpreter of the Lua to build for
#   CC, CFLAGS, CPPFLAGS, LDFLAGS, LUA_INCDIR

VERSION := 0.2.0

BUILD ?= build
CFLAGS ?= -O2 -g
LUA ?= lua5.4
LUA_V ?= $(or $(patsubst lua%,%,$(filter lua5.%,$(notdir $(LUA)))),$(shell \
  $(LUA) -e 'io.write(_VERSION:match "[%d.]+")' 2>/dev/null),5.4)
LUA_INCDIR ?= /usr/include/lua$(LUA_V)

PREFIX ?= /usr/local
# Some shells do not expand a ~ after the equals sign.
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

# The flags of every C file, in addition to CFLAGS.
COMPILE := -std=c11 -D_GNU_SOURCE -fPIC -fvisibility=hidden -pthread \
  $(WARNINGS) -DLZE_VERSION='"$(VERSION)"' -Iinclude -Icommon -Ispirv -Icompiler
LINK := -pthread
# The archive's symbols stay inside.  Its C++ runtime is the system's, so that no
# C++ compiler is needed.
LIBS := -Wl,--exclude-libs,ALL -lSPIRV-Tools \
  -l:libstdc++.so.6 -ldl -lpthread -lm
NODELETE := -Wl,-z,nodelete

ifneq ($(V),1)
Q := @
endif

ifdef SANITIZE
COMPILE += -fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
  -fno-omit-frame-pointer
# Reports at exit show names only while the code is still mapped.
LINK += -fsanitize=$(SANITIZE) $(NODELETE)
else
DEFS := -Wl,-z,defs
endif

# $(call link,FLAGS,LIBRARIES): the recipe that links a rule's objects and
# archives.  Flags with commas must come from variables.
define link
@mkdir -p $(@D)
@echo "  LINK $@"
$(Q)$(CC) $(LINK) $1 $(LDFLAGS) -o $@ $(filter %.o %.a,$^) $2
endef

# ---------------------------------------------------------------------------
# Sources

objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard $(1)))
COMMON := $(call objects,common/*.c) $(call objects,spirv/*.c)
COMPILER := $(call objects,compiler/*.c)
SRC := $(call objects,src/*.c) $(call objects,src/*/*.c) $(COMPILER)
DRIVER := $(call objects,driver/*.c) $(call objects,driver/*/*.c)
MPI := $(call objects,mpi/*.c)
MPI_TEXT := $(BUILD)/obj/mpi/mpi.h
EMBEDDED := $(patsubst %.lua,$(BUILD)/obj/%.h,$(wildcard lua/*.lua)) \
  $(BUILD)/obj/doc/manual.h
HELPER := $(BUILD)/libexec/lze/lze-build
# For editors.
TYPES := $(BUILD)/types/lze.lua
TARGETS := $(BUILD)/lze.so $(BUILD)/lze/mpi.so $(BUILD)/liblze.a \
  $(BUILD)/libze_opencl.so $(HELPER) $(TYPES)

all: $(TARGETS) ## build the module, the driver and its helper (the default)

# ---------------------------------------------------------------------------
# Linking

# Lua closes a module with its state, but the process keeps what it has learnt
# about drivers: nodelete.
MODULE_FLAGS := -shared $(NODELETE) -Wl,--version-script=src/lze.map
$(BUILD)/lze.so: $(SRC) $(COMMON) src/lze.map
	$(call link,$(MODULE_FLAGS),$(LIBS))

# The code that ends MPI runs at the end of the process, after the states:
# nodelete.
$(BUILD)/lze/mpi.so: $(MPI)
	$(call link,-shared $(NODELETE),-ldl)

# One object, so that a program linked with it gets only the documented names.
$(BUILD)/liblze.a: $(SRC) $(COMMON)
	@echo "  AR   $@"
	$(Q)$(LD) -r -o $(BUILD)/obj/liblze.o $^
	$(Q)$(OBJCOPY) --localize-hidden $(BUILD)/obj/liblze.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(BUILD)/obj/liblze.o

# The loader closes drivers at exit, when threads of OpenCL may still run:
# nodelete keeps the code mapped.
DRIVER_FLAGS := -shared $(DEFS) $(NODELETE) -Wl,-soname,libze_opencl.so
$(BUILD)/libze_opencl.so: $(DRIVER) $(COMMON)
	$(call link,$(DRIVER_FLAGS),$(LIBS))

# The driver's own code, so that it does what the driver would do.
HELPER_FLAGS := -Wl,--dynamic-list=libexec/lze-build.list
$(HELPER): $(BUILD)/obj/libexec/lze-build.o $(DRIVER) $(COMMON) \
  libexec/lze-build.list
	$(call link,$(HELPER_FLAGS),$(LIBS))

# ---------------------------------------------------------------------------
# Compiling

$(BUILD)/obj/driver/%.o $(BUILD)/obj/libexec/%.o: INCLUDES = -Idriver
$(BUILD)/obj/src/%.o: INCLUDES = -Isrc -I$(BUILD)/obj -I$(LUA_INCDIR)
$(BUILD)/obj/mpi/%.o: INCLUDES = -I$(BUILD)/obj -I$(LUA_INCDIR)
$(BUILD)/obj/examples/%.o: INCLUDES = -I$(LUA_INCDIR)

# Progress of a first build: [n/m], where m objects were missing at its start.
OBJECTS := $(SRC) $(COMMON) $(DRIVER) $(MPI) $(BUILD)/obj/libexec/lze-build.o
MISSING := $(filter-out $(wildcard $(OBJECTS)),$(OBJECTS))
progress = $(eval STARTED += x)$(if $(word $(words $(STARTED)),$(MISSING)), \
  [$(words $(STARTED))/$(words $(MISSING))])

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(BUILD)/found
	@mkdir -p $(@D)
	@echo "  CC   $<$(progress)"
	$(Q)$(CC) $(COMPILE) $(INCLUDES) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

# The module contains Lua and the manual as the bytes of C arrays, without
# comments in Lua; each keeps its line.
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

# Objects are compiled again when the flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@new=`printf '%s\n' "$$FLAGS"`; \
	if [ "$$new" != "`cat $@ 2>/dev/null`" ]; then \
	  printf '%s\n' "$$new" >$@; \
	fi
$(BUILD)/flags: export FLAGS = $(CC) $(COMPILE) -I$(LUA_INCDIR) $(CPPFLAGS) \
  $(CFLAGS)

# Checks once that everything needed to compile is there; `make` alone installs
# nothing.
$(BUILD)/found: scripts/check-needs
	@mkdir -p $(@D)
	@CC="$(CC)" CPPFLAGS="$(CPPFLAGS) -I$(LUA_INCDIR)" LUA="$(LUA)" \
	  LUA_V="$(LUA_V)" sh scripts/check-needs
	@touch $@

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)

# ---------------------------------------------------------------------------
# Running and installing

WITH := sh scripts/with-build $(BUILD)

demo: ## install missing packages, build, list devices, run three examples
	@sh scripts/packages build run
	@$(MAKE) --no-print-directory all
	@$(WITH) sh scripts/demo $(LUA)

test: ## install missing packages, build and run the whole suite
	@sh scripts/packages build run test
	@$(MAKE) --no-print-directory check

PLACES = BUILD='$(BUILD)' VERSION='$(VERSION)' LUA='$(LUA)' LUA_V='$(LUA_V)' \
  INSTALL='$(INSTALL)' DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' \
  BINDIR='$(BINDIR)' LIBDIR='$(LIBDIR)' LUA_CMOD='$(LUA_CMOD)' \
  LIBEXECDIR='$(LIBEXECDIR)' INCLUDEDIR='$(INCLUDEDIR)' DATADIR='$(DATADIR)'

install: all ## install below $(DESTDIR)$(PREFIX)
	@$(PLACES) sh scripts/install

uninstall: ## remove the installed files
	@$(PLACES) sh scripts/install --remove

clean: ## remove everything that was built
	rm -rf $(BUILD)

targets = awk -F ':.*\#\# ' '/^[a-z0-9-]+:.*\#\# / \
  { printf "  make %-20s %s\n", $$1, $$2 }' $1
help: ## show this list
	@echo 'To use lze:'
	@$(call targets,Makefile)
	@echo 'To work on lze (see CONTRIBUTING.md):'
	@$(call targets,spec/rules.mk kernels/rules.mk)
	@echo 'Benchmarks (see bench/README.md):'
	@$(call targets,bench/Makefile)

FORCE:
.SECONDARY:
.PHONY: all demo test install uninstall clean help FORCE

include kernels/rules.mk spec/rules.mk bench/Makefile
