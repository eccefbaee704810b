// Which Gradus this is. CMake reads the numbers from here.
#pragma once

#define GRADUS_VERSION_MAJOR 0
#define GRADUS_VERSION_MINOR 1
#define GRADUS_VERSION_PATCH 0
