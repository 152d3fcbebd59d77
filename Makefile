# make demo | test | test-oldest | bench | soak | lint | docs: each makes and fills what it needs itself.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Interpreters of the ROS 2 wheels leave a guard and a library path to their children. They are
# wrong for the interpreter of another environment, such as the one made here.
ifdef _ROS_WHEELS_BOOTSTRAP_COMPLETE
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE
unexport LD_LIBRARY_PATH
endif

# A sourced ROS 2 is used as it is; anywhere else its wheels come from PyPI.
ifneq ($(shell test -n "$$ROS_DISTRO" && $(PYTHON) -c 'import rclpy' 2>/dev/null && echo sourced),)
ROS2 := sourced $(ROS_DISTRO)
VENV_OPTIONS := --system-site-packages
RUN_EXTRAS := jit,sim,robots,view,record,trajectory
TEST_EXTRAS := $(RUN_EXTRAS),docs,test
OLDEST_PYTHON ?= $(PYTHON)
else
ROS2 := wheels from PyPI
RUN_EXTRAS := ros,jit,sim,robots,view,record,trajectory
TEST_EXTRAS := $(RUN_EXTRAS),docs,test,interfaces
# The oldest that can be had here.
OLDEST_PYTHON ?= $(shell for p in python3.10 python3.11 $(PYTHON); do \
	$$p -c 'import ensurepip, venv' 2>/dev/null && echo $$p && break; done)
endif

DOCS_EXTRAS := docs,jit,sim,robots

# What ends up in the environment; the package itself is installed editable.
INSTALLED := setup.py setup.cfg package.xml $(wildcard resource/* scripts/*)
RUN_READY := $(VENV)/ready-to-run
TEST_READY := $(VENV)/ready-to-test
DOCS_READY := $(VENV)/ready-for-docs
OLDEST := .venv-oldest

# C++; the last two sources need the headers of a sourced ros2_control.
ROS_INCLUDES := $(addprefix -isystem,$(wildcard $(foreach prefix,$(subst :, ,$(AMENT_PREFIX_PATH)),\
  $(prefix)/include $(prefix)/include/*)))
NATIVE_SOURCES := native/example/main.cpp native/test/replay.cpp \
  $(addprefix native/ros2_control/,src/joint_servo.cpp src/node_link.cpp \
    test/joint_servo.cpp test/node_link.cpp \
    $(if $(findstring /controller_interface,$(ROS_INCLUDES)),\
      src/loop.cpp src/operational_space_controller.cpp))

.PHONY: demo test test-oldest bench soak lint docs reference gallery clean help
.DEFAULT_GOAL := help

help:
	@echo 'make demo   a simulated robot follows goals sent over ROS 2 (ARGS="--robot talos", "--list")'
	@echo 'make test   every test'
	@echo 'make test-oldest   every test, with the oldest of everything that is needed'
	@echo 'make bench  measure against peers'
	@echo 'make soak   random goals at 1 kHz for ten minutes (ARGS="--seconds 60")'
	@echo 'make lint   ruff; where they are installed clang-tidy and cpplint, too'
	@echo 'make gallery   the pictures of doc/gallery.md, anew; NAMES="torso floor" for some'
	@echo 'make docs   the documentation site, in doc/site'
	@echo 'make reference   the pages of doc/reference that are made from tables of the code'
	@echo 'make clean  remove environments and build products'

# Without a linker there is no library, and the first start compiles.
define build_kernels
-@$(1)/python -m opspace_control.compilation
endef

# Install the package, editable, with extras: $(call install,folder of programs,extras,options).
# What builds it comes first, and once for pip and here: while pip installs the rest, the library of
# kernels is built, if it can be.
PIP_INSTALL := -m pip install --disable-pip-version-check --quiet
define install
@$(1)/python $(PIP_INSTALL) $(3) 'setuptools>=70.1' 'numba<0.69' pyyaml
@$(1)/python -m opspace_control.compilation & \
	$(1)/python $(PIP_INSTALL) $(3) --no-build-isolation --editable '.[$(2)]'; \
	installed=$$?; wait; exit $$installed
endef

demo: $(RUN_READY)
	$(call build_kernels,$(BIN))
	@$(BIN)/opspace demo $(ARGS)

# Tests wait for processes and for robots in real time: there is work for more of them than cores.
WORKERS ?= $(shell $(PYTHON) -c 'import os; print(min(6, 3 * os.cpu_count()))')

# Those may fail beside others on a busy machine, and then have to pass alone. A worker that dies is
# not replaced: the run with its replacement did not end.
define pytest
@$(1)/python -m pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder \
	--max-worker-restart 0 $(ARGS) || \
	{ test $$? -eq 1 && echo 'Once more, alone, what failed beside the others:' && \
	$(1)/python -m pytest --last-failed --last-failed-no-failures none --maxfail 5 $(ARGS); }
endef

# Tests start Python some hundred times, and each start would compile the package.
test test-oldest: export PYTHONDONTWRITEBYTECODE :=

test: $(TEST_READY)
	$(call build_kernels,$(BIN))
	$(call pytest,$(BIN))

test-oldest: $(OLDEST)/ready
	$(call build_kernels,$(OLDEST)/bin)
	$(call pytest,$(OLDEST)/bin)

bench: $(TEST_READY)
	$(call build_kernels,$(BIN))
	@$(BIN)/opspace bench $(ARGS)

soak: $(TEST_READY)
	$(call build_kernels,$(BIN))
	@$(BIN)/python benchmark/soak.py $(ARGS)

lint: $(TEST_READY)
	@$(BIN)/ruff check .
	@! command -v cpplint > /dev/null || cpplint --quiet --recursive native benchmark test
	@! command -v clang-tidy > /dev/null || for source in $(NATIVE_SOURCES); do \
	  clang-tidy --quiet $$source -- -std=c++17 -Inative/include -Inative/test \
	    -Inative/ros2_control/include $(ROS_INCLUDES) || exit 1; done

gallery: $(RUN_READY)
	$(call build_kernels,$(BIN))
	@for name in $(or $(NAMES),$$(sed -n 's/^opspace demo --experiment //p' doc/gallery.md)); do \
	  $(BIN)/opspace demo --experiment $$name --output doc/gallery/$$name.png || failed=1; \
	done; [ -z "$$failed" ]
	@[ -n "$(NAMES)" ] || $(BIN)/python doc/moving_picture.py doc/moving.png

reference: $(RUN_READY)
	@$(BIN)/python doc/reference_pages.py doc/reference
	@$(BIN)/python doc/managed_files.py

docs: $(DOCS_READY)
	@$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet doc doc/site
	@echo 'Open doc/site/index.html'

clean:
	rm -rf $(VENV) $(OLDEST) doc/generated doc/site build install log *.egg-info \
		opspace_control/compilation/kernels-*

$(BIN)/pip:
	@echo '[1/2] Making $(VENV) with $(PYTHON) (ROS 2: $(ROS2))'
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed; choose one with make PYTHON=python3.12")'
	@$(PYTHON) -m venv $(VENV_OPTIONS) $(VENV)

$(RUN_READY): $(BIN)/pip $(INSTALLED)
	@echo '[2/2] Installing into $(VENV): .[$(RUN_EXTRAS)] (the first time takes a minute or two)'
	$(call install,$(BIN),$(RUN_EXTRAS))
	@touch $@

$(TEST_READY): $(BIN)/pip $(INSTALLED)
	@echo '[2/2] Installing into $(VENV): .[$(TEST_EXTRAS)] (the first time takes a minute or two)'
	$(call install,$(BIN),$(TEST_EXTRAS))
	@touch $@ $(RUN_READY) $(DOCS_READY)

$(DOCS_READY): $(BIN)/pip $(INSTALLED)
	@echo '[2/2] Installing into $(VENV): .[$(DOCS_EXTRAS)]'
	$(call install,$(BIN),$(DOCS_EXTRAS))
	@touch $@

$(OLDEST)/ready: test/oldest.txt $(INSTALLED)
	@echo '[1/2] Making $(OLDEST) with $(OLDEST_PYTHON) (ROS 2: $(ROS2))'
	@$(OLDEST_PYTHON) -m venv --clear $(VENV_OPTIONS) $(OLDEST)
	@echo '[2/2] Installing into $(OLDEST): .[$(TEST_EXTRAS)], as old as it may be'
	$(call install,$(OLDEST)/bin,$(TEST_EXTRAS),--constraint test/oldest.txt)
	@touch $@
