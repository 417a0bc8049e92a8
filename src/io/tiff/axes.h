// Which axes the pages of a TIFF make, as its first description says: OME-XML, ImageJ's, tifffile's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/tiff/layout.h"
#include "oriel/tensor.h"

namespace oriel::io::tiff {

/// The axes before those of a page, from outermost to innermost, without those of size 1.
struct Axes {
  Extents sizes;
  std::string names;           ///< a letter for each: T, C, Z as OME has them, I for pages of no known kind
  std::vector<index_t> pages;  ///< the page of each plane, counted from 0; empty: in their order
  bool in_one_page = false;    ///< all planes lie behind each other where the data of the only page begin

  index_t planes() const { return element_count(sizes); }
};

/// How far apart elements are along an axis.
struct AxisSpacing {
  char axis = 'X';      ///< X, Y, Z, T
  double distance = 1;  ///< > 0
  std::string unit;     ///< `micrometer`, `second` …; empty: none
};

/// Of `pages` pages like `first`, whose description is `text`; `file` is for errors. Throws Error if a description
/// contradicts the pages.
Axes find_axes(std::string_view text, const Layout& first, index_t pages, const std::string& file);

/// Of OME-XML. Throws Error for what is damaged, and for images that lie in several files or are several.
Axes ome_axes(std::string_view xml, const Layout& first, index_t pages, const std::string& file);
/// The description of planes whose outer axes have these sizes: OME-XML if it has the type and as many axes, else
/// tifffile's. `names` as in Axes, or empty: then T, C and Z as OME orders them, the last one Z. Only OME-XML says the
/// spacing.
std::string describe_axes(const Extents& sizes, std::string_view names, const Layout& page, const std::string& about,
                          const std::vector<AxisSpacing>& spacing = {});

/// Whether OME has a type of elements.
bool has_ome_type(Dtype dtype);
/// OME's symbol of a unit such as `micrometer`, and the reverse; empty: not known.
std::string ome_symbol(std::string_view unit);
std::string unit_of_symbol(std::string_view symbol);

/// What OME-XML says of X, Y, Z and T, as far as it does. Throws Error for what is damaged.
std::vector<AxisSpacing> ome_spacing(std::string_view xml, const std::string& file);

/// What ImageJ's description says; `across` and `down` are the distances of pixels in its unit, 0: not known.
std::vector<AxisSpacing> imagej_spacing(std::string_view text, double across, double down);

/// Whether a description is ImageJ's.
bool is_imagej(std::string_view text);
/// Whether a description is OME-XML.
bool is_ome(std::string_view text);

}  // namespace oriel::io::tiff
