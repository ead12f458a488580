# SPDX-License-Identifier: Apache-2.0
"""Strata for Spack 1.0 or later, built from the checkout that holds this file: packaging/README.md says how."""

import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *

_checkout = pathlib.Path(__file__).resolve().parents[6]


class Strata(CMakePackage, CudaPackage):
    """C++20 performance portability: kernels written once over multidimensional array views run on serial hosts,
    thread pools, oneTBB and CUDA devices."""

    git = _checkout.as_uri()

    license("Apache-2.0")

    version((_checkout / "VERSION").read_text().strip(), branch="main")

    variant("tbb", default=True, description="The device Tbb, over oneTBB")
    variant("tests", default=False, description="Build the tests; spack install --test=root runs them")
    # cuda and cuda_arch come from CudaPackage

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("tbb", when="+tbb")
    depends_on("cuda@12.8:", when="+cuda")
    depends_on("googletest", type="build", when="+tests")
    depends_on("nlohmann-json", type="build", when="+tests")
    depends_on("python@3", type="build", when="+tests")

    conflicts("cuda_arch=none", when="+cuda", msg="Say which GPUs to compile for, as in cuda_arch=90")
    requires("%gcc@12:", "%clang@14:", policy="any_of", msg="Strata needs g++ 12 or clang++ 14, or later")

    def cmake_args(self):
        args = [
            # Spack's compiler wrapper adds the flags of the target.
            self.define("STRATA_ARCH", ""),
            self.define("STRATA_BUILD_PERF_TESTS", False),
            self.define("STRATA_BUILD_EXAMPLES", False),
            self.define("STRATA_BUILD_MINIAPPS", False),
            self.define_from_variant("STRATA_BUILD_TESTS", "tests"),
            self.define_from_variant("STRATA_ENABLE_TBB", "tbb"),
            self.define_from_variant("STRATA_ENABLE_CUDA", "cuda"),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args

    def check(self):
        """The tests that need no GPU and no install: `spack install --test=root strata+tests`."""
        if self.spec.satisfies("+tests"):
            with working_dir(self.build_directory):
                ctest("--output-on-failure", "--label-exclude", "slow|package|must_not_compile")

    def test_strata_info(self):
        """the installed program says its version (spack test run strata)"""
        program = which(self.prefix.bin.join("strata-info"))
        assert f"strata {self.spec.version} " in program("--version", output=str.split)
