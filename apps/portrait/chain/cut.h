// From a network's small mask to the person's share of every pixel at full resolution.
#pragma once

#include <functional>

#include "apps/portrait/chain/mask.h"
#include "apps/portrait/image/plane.h"

namespace oriel::portrait {

/// A soft mask of the person, values from 0 to 1, covering exactly the picture (RGB), in whatever size the model works
/// with. May be called by several threads at once.
using Segmenter = std::function<Planes(const Image& image)>;

/// How alpha at an edge is found.
enum class Matte : std::uint8_t {
  fast,  ///< the guided filter
  fine,  ///< closed-form matting in a band around the edge of the mask
};

/// How edges are made at full resolution.
struct EdgeOptions {
  Matte matte = Matte::fast;
  bool mask_is_trimap = false;  ///< the mask is white and black where it is certain, else to be found; then `fine`
  index_t working_area = index_t{1} << 20;  ///< pixels at most of the reduced picture in which edges are found
  index_t radius = 0;         ///< of the guided filter, pixels of that picture; 0: two of the mask's cells
  float epsilon = 3e-4F;      ///< of the guided filter: contrasts below its root do not count as edges
  index_t feather = 0;        ///< pixels of the picture over which an edge is made softer
  bool decontaminate = true;  ///< take the old background's colour out of mixed pixels
};

/// Throws Error for values out of range, naming the option of the command.
void check(const EdgeOptions& options);

/// Everything that the chain can be told.
struct ChainOptions {
  MaskOptions mask{};
  EdgeOptions edge{};
  int threads = 0;
};

/// A person cut out of a picture.
struct Cut {
  Planes alpha;    ///< 1 x height x width of the picture: the person's share of each pixel, 0 to 1
  Planes colours;  ///< local_colours, each value for step x step pixels; empty where none are to be taken apart
  index_t step = 1;
  Person person;
  Planes shares{};  ///< alpha before it was feathered or made fainter, by which colours are taken apart; empty: alpha
};

/// The person in `image` (RGB), given the network's mask of it: cleaned, its edge found in the picture by the guided
/// filter or by matting (EdgeOptions::matte), feathered. Where the mask holds no person, alpha is 0 everywhere. Throws
/// Error.
Cut cut(const Image& image, const Planes& mask, const ChainOptions& options);

}  // namespace oriel::portrait
