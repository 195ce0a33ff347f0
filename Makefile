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

# All kernels that apt offers, also those that make test leaves out (tests/vm/kernels.py): the census, cgroup v1, CPU hotplug.
test-kernels: all
	@status=0; for kernel in 5.10 6.1 6.12 6.18 7; do \
		tests/vm/zombies.py $(BUILD)/zscope $(BUILD)/tests/kernel/zombie_maker $$kernel || [ $$? = 77 ] || status=1; \
		tests/vm/hotplug.py $(BUILD)/zscope $(BUILD)/tests/kernel/profile-load $$kernel || [ $$? = 77 ] || status=1; \
	done; for kernel in 5.10 6.1; do \
		tests/vm/zombies_v1.py $(BUILD)/zscope $(BUILD)/tests/kernel/zombie_maker $$kernel || [ $$? = 77 ] || status=1; \
	done; exit $$status

bench: all
	@tools/install-deps.sh bench
	@tests/bench/run.sh $(BUILD)

install: all
	meson install -C $(BUILD)

lint: all
	@meson test -C $(BUILD) --no-rebuild --suite lint --print-errorlogs

# Every parser, FUZZ seconds each, with clang's libFuzzer and the sanitizers: about ten minutes on one core.
FUZZ ?= 10
fuzz: deps
	@tests/fuzz/run.sh build-fuzz $(FUZZ)

format:
	clang-format-14 -i $$(git ls-files 'src/*.[ch]' 'tests/*.[ch]')

clean:
	rm -rf $(BUILD) build-asan build-clang build-fuzz
