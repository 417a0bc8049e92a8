/* What R calls. */
#ifndef ORIEL_R_H_
#define ORIEL_R_H_

#include <Rinternals.h>

SEXP C_parse(SEXP name);
SEXP C_make(SEXP words, SEXP numbers, SEXP lists, SEXP axes, SEXP shape);
SEXP C_forward(SEXP problem, SEXP x, SEXP indices, SEXP threads);
SEXP C_backward(SEXP problem, SEXP x, SEXP dy, SEXP indices, SEXP threads);
SEXP C_unpool(SEXP y, SEXP indices, SEXP dtype, SEXP output_shape, SEXP shape, SEXP axes, SEXP threads);
SEXP C_named(SEXP problem, SEXP x, SEXP dy, SEXP space, SEXP index_dtype, SEXP unpooled);
SEXP C_info(SEXP problem);
SEXP C_target(SEXP name);
SEXP C_version(void);

#endif /* ORIEL_R_H_ */
