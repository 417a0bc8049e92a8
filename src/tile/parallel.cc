#include "tile/parallel.h"

#include "parallel_loop.h"

namespace oriel::tile {

void spread(index_t begin, index_t end, index_t least, const std::function<void(index_t, index_t)>& body) {
  detail::parallel_loop(begin, end, least, body);
}

}  // namespace oriel::tile
