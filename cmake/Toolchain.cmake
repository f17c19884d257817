# Compiler settings that every library shares.
find_program(CCACHE ccache)
if(CCACHE)
  # Paths below the checkout count as relative ones, so that another checkout (as continuous integration makes) finds what
  # an earlier one compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CMAKE_SOURCE_DIR}/cmake/without_old_header ${CCACHE})
endif()

add_library(giftsync_flags INTERFACE)
# Where warnings are no errors (release) they are not shown either: with optimisation GCC 12 sees ghosts in std::string.
if(GIFTSYNC_WERROR)
  target_compile_options(giftsync_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                         -Woverloaded-virtual -Werror)
else()
  target_compile_options(giftsync_flags INTERFACE -w)
endif()
target_include_directories(giftsync_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_definitions(giftsync_flags INTERFACE GIFTSYNC_VERSION="${PROJECT_VERSION}")
# Functions and lines for backtraces, no variables: those would cost a fifth of the time of a build.
target_compile_options(giftsync_flags INTERFACE -g1)
if(GIFTSYNC_SANITIZE)
  target_compile_options(giftsync_flags INTERFACE -fsanitize=${GIFTSYNC_SANITIZE} -fno-omit-frame-pointer
                         -fno-sanitize-recover=all)
  # SOCI keeps the type information of its classes to itself, which the check of virtual tables would need.
  if(GIFTSYNC_SANITIZE MATCHES undefined)
    target_compile_options(giftsync_flags INTERFACE -fno-sanitize=vptr)
  endif()
  # Asio's fences, which ThreadSanitizer does not know, add nothing to the locks of its queues.
  if(GIFTSYNC_SANITIZE MATCHES thread)
    target_compile_definitions(giftsync_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
  target_link_options(giftsync_flags INTERFACE -fsanitize=${GIFTSYNC_SANITIZE})
  # UndefinedBehaviorSanitizer describes every place that it checks and AddressSanitizer guards each description: ten million
  # addresses in a program. At a fixed place the linker fills them in; else every start does, for half a second.
  if(GIFTSYNC_SANITIZE MATCHES address)
    target_link_options(giftsync_flags INTERFACE -no-pie)
  endif()
endif()
if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
  target_compile_options(giftsync_flags INTERFACE -fstack-protector-strong -D_FORTIFY_SOURCE=2 -fPIE)
  # The programs are the same bytes wherever the checkout lies, with and without the compiler cache, which orders options and
  # names files from the build folder on.
  file(RELATIVE_PATH build_folder ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
  target_compile_options(giftsync_flags INTERFACE -gno-record-gcc-switches -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.
                         -ffile-prefix-map=../..=. -ffile-prefix-map=generated=./${build_folder}/generated)
  target_link_options(giftsync_flags INTERFACE -pie -Wl,-z,relro,-z,now -Wl,--gc-sections)
endif()

# Headers that most files of a target read anyway are compiled once, where builds are many and time counts
# (GIFTSYNC_PRECOMPILE: all presets but dev). In dev each file must include what it uses.
function(giftsync_precompile target)
  if(GIFTSYNC_PRECOMPILE)
    target_compile_options(${target} PRIVATE -fpch-preprocess)
    target_precompile_headers(${target} PRIVATE <algorithm> <functional> <map> <memory> <optional> <span> <string>
                              <string_view> <unordered_map> <variant> <vector> ${ARGN})
  endif()
endfunction()

# giftsync_library(folder [SMALL] [SUBFOLDERS name...] [USES folder...] [PRIVATE library...] [PRECOMPILE header...]): one folder,
# one static library giftsync_FOLDER (slashes become underscores). USES names the libraries whose headers it may include. SMALL:
# people or a network take far longer than it does, so what is installed has it compiled for size.
function(giftsync_library folder)
  cmake_parse_arguments(LIBRARY "SMALL" "" "SUBFOLDERS;USES;PRIVATE;PRECOMPILE" ${ARGN})
  set(patterns ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  foreach(subfolder ${LIBRARY_SUBFOLDERS})
    list(APPEND patterns ${CMAKE_SOURCE_DIR}/${folder}/${subfolder}/*.cpp)
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  list(FILTER sources EXCLUDE REGEX "_main\\.cpp$")
  string(REPLACE "/" "_" uses "${LIBRARY_USES}")
  list(TRANSFORM uses PREPEND giftsync_)
  string(REPLACE "/" "_" name giftsync_${folder})
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC giftsync_flags ${uses} PRIVATE ${LIBRARY_PRIVATE})
  if(GIFTSYNC_SANITIZE)
    target_compile_options(${name} PRIVATE -Og)  # compiles as fast as without, and the tests run faster
  endif()
  if(LIBRARY_SMALL AND CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo")
    target_compile_options(${name} PRIVATE -Os)
  endif()
  giftsync_precompile(${name} ${LIBRARY_PRECOMPILE})
endfunction()
