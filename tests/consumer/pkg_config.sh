# Compiles the user's program with what pkg-config says: pkg_config.sh PKGCONFIG_DIR COMPILER OUTPUT
set -eu
export PKG_CONFIG_PATH="$1"
"$2" -std=c++20 "$(dirname "$0")/app.cpp" -o "$3" $(pkg-config --cflags --libs gradus)
"$3"
