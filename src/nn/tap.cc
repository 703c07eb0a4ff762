#include "qkv/tap.h"

namespace qkv {

Tap::~Tap() = default;

}  // namespace qkv
