// The processor that the module was compiled for, and the one that it runs on.
#pragma once

namespace oriel::python {

// Instructions that the compiler was allowed to use everywhere (-march) and this processor has not, e.g. "AVX2";
// nullptr if there are none. The kernels are another matter: each call picks theirs.
const char* missing_instructions();

}  // namespace oriel::python
