// The version of these headers; oriel::version() returns the version of the library in use.
#pragma once

#define ORIEL_VERSION_MAJOR 0
#define ORIEL_VERSION_MINOR 2
#define ORIEL_VERSION_PATCH 0

/// A version as one number, larger for later versions, e.g. for `#if ORIEL_VERSION >= ORIEL_VERSION_NUMBER(0, 2, 0)`.
#define ORIEL_VERSION_NUMBER(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define ORIEL_VERSION ORIEL_VERSION_NUMBER(ORIEL_VERSION_MAJOR, ORIEL_VERSION_MINOR, ORIEL_VERSION_PATCH)
