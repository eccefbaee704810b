"""Conan 2 recipe: conan create packaging/conan, in a source archive or a clone."""
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy


class Gradus(ConanFile):
    name = "gradus"
    description = "Reverse-mode autograd and attention in C++20, made to be read"
    license = "MIT"
    topics = ("autograd", "transformer", "attention", "gradient-check")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "openmp": [True, False], "openblas": [True, False]}
    default_options = {"shared": False, "fPIC": True, "openmp": True, "openblas": False}
    implements = ["auto_shared_fpic"]

    @property
    def _tree(self):
        return Path(self.recipe_folder).resolve().parent.parent

    def set_version(self):
        text = (self._tree / "engine/base/version.h").read_text()
        self.version = ".".join(re.findall(r"#define GRADUS_VERSION_\w+ (\d+)", text))

    def export_sources(self):
        for pattern in ["CMakeLists.txt", "gradus.h", "LICENSE", "docs/derivations/*.md", "tools/cmake/*",
                        *(f"{part}/*" for part in "engine ops nn check trace io train".split())]:
            copy(self, pattern, self._tree, self.export_sources_folder)

    def requirements(self):
        self.requires("nlohmann_json/[>=3.9 <4]", visible=False)  # only in sources
        if self.options.openblas:
            self.requires("openblas/[>=0.3 <1]")

    def validate(self):
        check_min_cppstd(self, 20)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables.update(
            GRADUS_BUILD_TESTS=False, GRADUS_BUILD_EXAMPLES=False, GRADUS_MPI=False,
            GRADUS_OPENMP=bool(self.options.openmp), GRADUS_BLAS="OpenBLAS" if self.options.openblas else "builtin")
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")  # the package has its own gradusConfig.cmake
        self.cpp_info.builddirs = ["lib/cmake/gradus"]
