# pkg_config.sh PKGCONFIG_DIR COMPILER OUTPUT: compiles app.cpp with the flags of pkg-config.
set -eu
export PKG_CONFIG_PATH="$1"
"$2" -std=c++20 "$(dirname "$0")/app.cpp" -o "$3" $(pkg-config --cflags --libs gradus)
"$3"
