// Loops that the compiler makes no vectors of.
#pragma once

/// In the body of a loop: of loads or stores apart from each other vectors are long code that is no quicker.
#define ORIEL_SCALAR_LOOP asm volatile("")
