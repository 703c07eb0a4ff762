// A plane between two axes, for pictures of points.
#pragma once

#include <string>

#include "plot/axis.h"
#include "plot/drawing.h"

namespace qkv::plot {

struct Plane {
  Axis x, y;  // places included
};

// Where the plane lies in a picture of this width, its top at `top`; its height
// is `shape` times its width. The picture is as high as height_below says.
Plane placed_plane(const Axis& x, const Axis& y, double width, double top,
                   double shape);
double height_below(const Plane& plane);

// Ticks, a frame, and what the axes are called.
void draw_plane(Drawing& drawing, const Plane& plane, const std::string& x_name,
                const std::string& y_name);

}  // namespace qkv::plot
