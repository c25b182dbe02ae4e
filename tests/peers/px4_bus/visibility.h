#pragma once
#define __EXPORT __attribute__((visibility("default")))
