# The two commands of the README are `make demo` and `make test`; each sets up all it needs.

VENV   := .venv
PYTHON := $(VENV)/bin/python
ENGINE := $(VENV)/bin/tiltyard-engine
SOURCES := lab plugins tests benchmarks simulation release conftest.py hatch_build.py
WHEEL  := $(lastword $(sort $(wildcard dist/tiltyard-*_$(shell uname -m).whl)))
# What waits for the network and what compiles go side by side.
MAKEFLAGS += --jobs=2
unexport MAKEFLAGS MFLAGS
RUST_SOURCES := $(shell find engine plugins -name '*.rs' -o -name 'Cargo.toml' 2>/dev/null) Cargo.toml Cargo.lock schema/wire.schema.json

.PHONY: help demo test check check-rust check-python build setup setup-dev schema docs kernels bench bench-analysis bench-network calibration error-rates conformance dist clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 16

# A wheel in dist/ has the engine and the lab: there is nothing to build.
demo: $(if $(WHEEL),.demo/venv/.installed,setup) ## compare ext4, XFS and btrfs on this machine (without root: directories)
	@$(if $(WHEEL),.demo/venv,$(VENV))/bin/tiltyard demo --folder .demo

.demo/venv/.installed: $(WHEEL)
	@echo "Using $(WHEEL); remove it to build from these sources" >&2
	@scripts/make-venv .demo/venv
	.demo/venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	.demo/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall $(WHEEL)
	@scripts/install-tools $$(cat scripts/tools)
	@touch $@

test: check ## every test: Rust, Python, real mounts, a real browser (about 25 minutes)
	cargo test --workspace --locked --quiet
	$(PYTHON) -m pytest -n 3 --dist loadscope

check: check-rust check-python ## formatters, linters, types

check-rust: setup-dev
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

check-python: setup-dev
	$(VENV)/bin/ruff format --check $(SOURCES)
	$(VENV)/bin/ruff check $(SOURCES)
	$(VENV)/bin/mypy

schema docs &: setup-dev ## regenerate what is derived from the code: schemas, reference pages
	$(PYTHON) scripts/generate.py

bench: setup-dev ## the engine beside its peers, interleaved (not part of `test`)
	$(PYTHON) -m benchmarks.storage
	$(PYTHON) -m benchmarks.program

bench-analysis: setup-dev ## what an analysis and a report cost as a study grows: time, memory, exponents
	$(PYTHON) -m benchmarks.analysis
	$(PYTHON) -m benchmarks.analysis.growth

bench-network: setup-dev ## the same over loopback and, as root, between network namespaces
	$(PYTHON) -m benchmarks.network

calibration: setup ## this host's own error rates, as docs/calibration.md (longer than an hour)
	$(VENV)/bin/tiltyard calibrate --long --document docs/calibration.md

error-rates: setup-dev ## simulate how often each way to compare is wrong; writes docs/error-rates.md
	$(PYTHON) -m simulation --write docs/error-rates.md --quote plugins/calibrate/src/tiltyard_calibrate/error-rates.json

conformance: setup-dev ## the long statistical checks (not part of `test`)
	$(PYTHON) -m pytest -m conformance

build: $(ENGINE) ## the engine only, one static binary

dist: $(VENV)/.installed-dev ## wheel, source, Debian package, image, bill of materials, checksums: in dist/
	@scripts/install-tools mmdebstrap:mmdebstrap umoci:umoci dpkg:dpkg-deb
	$(PYTHON) -m release dist

setup: $(ENGINE) $(VENV)/.installed ## engine in release mode, lab in a local environment, tools
	@scripts/install-tools $$(cat scripts/tools)

setup-dev: setup $(VENV)/.installed-dev
	@scripts/install-tools chromium:chromium
	@scripts/install-tools fio:fio postgresql:pg_ctlcluster sqlite3:sqlite3 sysbench:sysbench stress-ng:stress-ng
	@scripts/install-tools redis-server:redis-server redis-tools:redis-benchmark dbench:dbench bonnie++:bonnie++
	@scripts/install-tools openssl:openssl zstd:zstd xz-utils:xz git:git rsync:rsync iperf3:iperf3 sockperf:sockperf
	@scripts/install-tools nginx-light:nginx lighttpd:lighttpd apache2-utils:ab make:make gcc:gcc
	@scripts/install-tools flex:flex bison:bison bc:bc
	@ls /usr/src/uClibc-ng-*.tar.xz >/dev/null 2>&1 || scripts/install-tools uclibc-source:
	@scripts/install-tools strace:strace systemd:systemd-analyze postmark:postmark fsmark:fs_mark
	@scripts/install-tools tmux:tmux man-db:man groff:groff zsh:zsh fish:fish
	@scripts/install-tools openssh-server:sshd openssh-client:ssh slurm-wlm:slurmctld
	@scripts/install-tools fdisk:sfdisk lvm2:pvcreate cryptsetup-bin:cryptsetup bcache-tools:make-bcache ntfs-3g:mkntfs dosfstools:mkfs.vfat
	@scripts/install-tools f2fs-tools:mkfs.f2fs nilfs-tools:mkfs.nilfs2 jfsutils:mkfs.jfs reiserfsprogs:mkfs.reiserfs
	@scripts/install-tools ntfs-3g:ntfs-3g exfatprogs:mkfs.exfat
	@scripts/install-tools fuse3:fusermount3 fuse2fs:fuse2fs zfs-fuse:zfs-fuse bindfs:bindfs fuse-overlayfs:fuse-overlayfs
	@scripts/install-tools glusterfs-server:glusterd glusterfs-client:mount.glusterfs
	@scripts/install-tools user-mode-linux:linux.uml cpio:cpio busybox-static:busybox
	@scripts/install-tools mmdebstrap:mmdebstrap umoci:umoci
	@scripts/install-tools qemu-system-x86:qemu-system-x86_64 qemu-utils:qemu-img kmod:depmod debootstrap:debootstrap
	@lab/src/tiltyard/systems/vm/guest-kernels >/dev/null || echo "Going on without kernels for virtual machines" >&2

kernels: ## unpack two Debian kernels for virtual machines; nothing is installed
	@scripts/install-tools kmod:depmod
	@lab/src/tiltyard/systems/vm/guest-kernels

# One static binary: nothing but one file to copy onto a system under test.
$(ENGINE): $(RUST_SOURCES) | $(VENV)/.created
	engine=$$(scripts/build-engine) && install -m 755 "$$engine" $@

$(VENV)/.created:
	@scripts/make-venv $(VENV)
	@touch $@

$(VENV)/.installed: requirements.lock pyproject.toml | $(VENV)/.created
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock $(VENV)/.installed
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@

clean: ## remove everything that was built
	rm -rf target $(VENV) .demo dist
