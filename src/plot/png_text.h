// Text of PNG pictures: any bytes, in one font, what it lacks as hexadecimal.
#pragma once

#include <cairo.h>

#include "plot/drawing.h"

namespace qkv::plot {

// The same letters whatever the desktop's settings.
void set_font_options(cairo_t* cairo);

// Units are points. Characters that the font lacks stand as a box with their
// code point; right-to-left runs run to the left (without joining letters).
void draw_text(cairo_t* cairo, const Text& text);

}  // namespace qkv::plot
