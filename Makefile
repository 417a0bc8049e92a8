# Every task of a developer. `make help` lists them.
JOBS ?= $(shell nproc)
CTEST = ctest --output-on-failure --no-tests=error -j$(JOBS)
BUILD = cmake --build --preset

# As if it had been configured for it: .venv's OpenVINO is found, and the rest of build/ stays.
PORTRAIT = -D ORIEL_BUILD_NN=ON -D ORIEL_BUILD_PORTRAIT=ON

.PHONY: help deps demo portrait-models test check sanitize build python bindings model bench portable wasm wheels fuzz lint format docs site install packages venv clean
.DEFAULT_GOAL := help

help: ## List what can be made
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1|\2/p' Makefile | column -t -s '|'

demo: ## Install what is missing, build, pool a photograph, make pyramids of a brain, check and time all; pictures in build/demo
	@scripts/install_debian.sh debian_packages.txt debian_packages_demo.txt
	@scripts/venv.sh demo
	@scripts/venv.sh portrait || echo "demo: without OpenVINO, so the portrait is cut out by the drawn model"
	@cmake --preset programs $(PORTRAIT) >/dev/null
	@cmake --build build --target oriel_programs -j$(JOBS)
	@build/bin/oriel-portrait models get selfie --python .venv/bin/python || echo "demo: without the selfie model, so the portrait is cut out by the drawn model"
	@scripts/venv.sh demo-pyramids || echo "demo: without the packages of scripts/requirements-demo-pyramids*.txt"
	@.venv/bin/python scripts/demo.py

portrait-models: deps ## Install OpenVINO into .venv, build oriel-portrait with it, and install MediaPipe's selfie models for you
	@scripts/venv.sh portrait
	@if test -f build/build.ninja; then cmake -B build $(PORTRAIT) >/dev/null; else cmake --preset programs $(PORTRAIT) >/dev/null; fi
	@cmake --build build --target oriel_portrait -j$(JOBS)
	@build/bin/oriel-portrait models get selfie --python .venv/bin/python

test: packages ## Install what is missing, build, and run every test: 50 minutes on two processors
	@scripts/test.sh

check: packages venv ## Build and run the tests of the release build only; L=fast picks a label
	@cmake --preset release >/dev/null
	@$(BUILD) release
	@cd build && $(CTEST) $(if $(L),-L $(L))

deps: ## Install the Debian packages that the library, the command and the Python package are built with
	@scripts/install_debian.sh

build: ## Build the library and the command into build/ (build/bin/oriel); installs nothing
	@test -f build/build.ninja || cmake --preset programs || { rm -f build/CMakeCache.txt; echo "make build: something is missing; 'make deps' installs it"; exit 1; }
	@cmake --build build --target oriel_programs -j$(JOBS)

python: deps ## Install the Python package oriel into .venv
	@scripts/venv.sh test demo
	@scripts/install_python.sh

bindings: packages ## Build liboriel_c and run the bindings for other languages with it: their tests and the examples of docs/bindings.md
	@cmake --preset release >/dev/null
	@$(BUILD) release --target oriel_c -j$(JOBS)
	@cd build && $(CTEST) -L bindings

model: python ## Train the portrait demo model again on drawn people: hours on two cores; goes on where it stopped
	@.venv/bin/python apps/portrait/training/pool.py
	@.venv/bin/python apps/portrait/training/train.py
	@.venv/bin/python apps/portrait/training/export.py
	@.venv/bin/python apps/portrait/training/card.py
	@.venv/bin/python apps/portrait/training/pictures.py apps/portrait/model/portrait_demo.safetensors docs/images

bench: packages ## Time the problems of bench/suite.txt and bench/science.txt with Oriel and other libraries, in two hours; tables in docs/performance*.md
	@scripts/bench.sh

portable: ## Build for Arm and IBM Z and run the fast tests in emulation; compile against newer Highways: 20 minutes
	@scripts/portable.sh
	@scripts/new_highway.sh

wasm: ## Build the module for browsers and node (WebAssembly) and test it in node; needs root; 30 minutes
	@test -x $(or $(ORIEL),build/bin/oriel) || $(MAKE) build
	@scripts/wasm.sh

sanitize: packages venv ## Run the quick tests with the sanitizers for addresses, undefined behaviour and threads; fuzz briefly: 60 minutes
	@scripts/sanitize.sh $(or $(SECONDS_EACH),5)

fuzz: packages ## Fuzz every target for 60 s each; SECONDS_EACH=n changes that
	@scripts/fuzz.sh $(or $(SECONDS_EACH),60)

lint: packages ## Run clang-tidy on src, reference, cli and apps, and check formatting and lengths
	@cmake --preset release >/dev/null
	@scripts/lint.sh

format: packages ## Format every C++ file
	@git ls-files '*.h' '*.cc' '*.inl' | xargs clang-format -i

docs: packages venv ## Run every example of README and docs and check the links
	@cmake --preset release >/dev/null
	@$(BUILD) release
	@cd build && $(CTEST) -L docs

site: packages python ## Build the documentation site into build/site (warnings are errors); its examples are tested by `make docs`
	@scripts/venv.sh site
	@cmake --preset release >/dev/null
	@$(BUILD) release --target oriel_programs -j$(JOBS)
	@scripts/site.sh

install: build ## Install into PREFIX (default /usr/local)
	@cmake --install build --prefix $(or $(PREFIX),/usr/local)

wheels: ## Build wheels for x86-64 and 64-bit Arm into build-wheels/dist; `scripts/wheels.sh --check` tries them in bare systems
	@scripts/wheels.sh

packages:
	@scripts/install_debian.sh debian_packages.txt debian_packages_demo.txt debian_packages_test.txt

venv:
	@scripts/venv.sh test demo site portrait

clean: ## Remove everything that was built
	rm -rf build build-* .venv .venv-bench
