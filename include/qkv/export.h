// QKV_API marks what the shared library exports; all else stays hidden.
#pragma once

#define QKV_API __attribute__((visibility("default")))
