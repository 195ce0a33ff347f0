# For people. The build itself is meson; see docs/ARCHITECTURE.md.
BUILD ?= build

.PHONY: all deps demo test soak test-kernels bench install lint format fuzz clean

all: deps
	@[ -f $(BUILD)/build.ninja ] || meson setup $(BUILD)
	@ninja -C $(BUILD)

deps:
	@tools/install-deps.sh build

demo: all
	@tools/demo.sh $(BUILD)

test:
	@tests/run.sh

# A node that is busy but healthy, asked 50 times in a row: there must be no finding.
soak: all
	@ZSCOPE_SOAK_RUNS=50 tests/kernel/why_scenarios.sh $(BUILD)/zscope healthy-but-busy

# Kernels that this Debian does not have: 5.10 and 7.x.
test-kernels: all
	@tests/vm/kernels.sh $(BUILD)

bench: all
	@tools/install-deps.sh bench
	@tests/bench/run.sh $(BUILD)

install: all
	meson install -C $(BUILD)

format:
	clang-format-14 -i $$(git ls-files 'src/*.[ch]' 'tests/*.[ch]')

clean:
	rm -rf $(BUILD) build-asan build-clang build-fuzz
