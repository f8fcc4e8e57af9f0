# The lists of locks, registry/*.def, as CMake knows them. A line says NAME, class, header and words; the lists say at
# their heads what words mean.
set(LOCKSWAP_LISTS ${CMAKE_CURRENT_LIST_DIR}/registry)
# A folder to include from: registry/rw_list_headers.h and the like.
set(LOCKSWAP_LISTED ${CMAKE_BINARY_DIR}/src/lists)

# lockswap_read_list(FILE PREFIX): ${PREFIX}_NAMES, and of each name ${PREFIX}_NAME_CLASS, _HEADER, _WORDS, _MACRO, and
# the _INFO of another name.
function(lockswap_read_list file prefix)
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${LOCKSWAP_LISTS}/${file})
  file(STRINGS ${LOCKSWAP_LISTS}/${file} lines REGEX "^[^/]")
  set(names)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "^([A-Z_]+)\\(\"([a-z0-9-]+)\", ([A-Za-z0-9]+), \"([^\"]+)\"(, ([A-Z_ |]+))?(, [A-Za-z]+)?\\)$")
      message(FATAL_ERROR "${file}: this is no line of the list: ${line}")
    endif()
    set(name ${CMAKE_MATCH_2})
    list(APPEND names ${name})
    set(${prefix}_${name}_MACRO ${CMAKE_MATCH_1} PARENT_SCOPE)
    set(${prefix}_${name}_CLASS ${CMAKE_MATCH_3} PARENT_SCOPE)
    set(${prefix}_${name}_HEADER ${CMAKE_MATCH_4} PARENT_SCOPE)
    set(${prefix}_${name}_INFO "${CMAKE_MATCH_7}" PARENT_SCOPE)
    string(REGEX MATCHALL "[A-Z_]+" words "${CMAKE_MATCH_6}")
    set(${prefix}_${name}_WORDS "${words}" PARENT_SCOPE)
  endforeach()
  set(${prefix}_NAMES ${names} PARENT_SCOPE)
endfunction()

lockswap_read_list(rw_list.def LOCKSWAP_RW)
lockswap_read_list(mutex_list.def LOCKSWAP_MUTEX)
lockswap_read_list(range_list.def LOCKSWAP_RANGE)

# lockswap_write(FILE TEXT): only if it differs, so that nothing is compiled again without need.
function(lockswap_write file text)
  set(there)
  if(EXISTS ${file})
    file(READ ${file} there)
  endif()
  if(NOT there STREQUAL text)
    file(WRITE ${file} "${text}")
  endif()
endfunction()

# The build may leave families of locks out: docs/installing.md.
set(LOCKSWAP_WITHOUT "" CACHE STRING "families of locks to leave out, such as bravo,gcr,range")
if(LOCKSWAP_WITHOUT)
  include(${CMAKE_CURRENT_LIST_DIR}/without.cmake)
endif()

# lockswap_list_headers(PREFIX FILE): an include of each header that the list names.
function(lockswap_list_headers prefix file)
  set(headers)
  foreach(name IN LISTS ${prefix}_NAMES)
    list(APPEND headers ${${prefix}_${name}_HEADER})
  endforeach()
  list(REMOVE_DUPLICATES headers)
  set(text "// Written by src/lists.cmake.\n#pragma once\n\n")
  foreach(header IN LISTS headers)
    string(APPEND text "#include \"${header}\"\n")
  endforeach()
  lockswap_write(${file} "${text}")
endfunction()

# lockswap_list_units(PREFIX FOLDER START TEMPLATE OUT): from TEMPLATE, in which @class@, @header@ and @words@ are the
# lock's, a source START_CLASS.cpp in FOLDER for each lock of the list. OUT: these sources.
function(lockswap_list_units prefix folder start template out)
  set(sources)
  foreach(name IN LISTS ${prefix}_NAMES)
    if(${prefix}_${name}_MACRO MATCHES "_NAME$")  # another name for the same code
      continue()
    endif()
    set(class ${${prefix}_${name}_CLASS})
    set(header ${${prefix}_${name}_HEADER})
    string(REPLACE ";" " | " words "${${prefix}_${name}_WORDS}")
    configure_file(${template} ${folder}/${start}_${class}.cpp @ONLY)
    list(APPEND sources ${folder}/${start}_${class}.cpp)
  endforeach()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# lockswap_with_word(PREFIX WORD OUT): the names whose line has that word.
function(lockswap_with_word prefix word out)
  set(found)
  foreach(name IN LISTS ${prefix}_NAMES)
    if(word IN_LIST ${prefix}_${name}_WORDS)
      list(APPEND found ${name})
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# lockswap_with_block(PREFIX OUT): the names of locks that keep a block beside the object, so look at the machine; not
# those that are the source of another one.
function(lockswap_with_block prefix out)
  set(found)
  foreach(name IN LISTS ${prefix}_NAMES)
    file(STRINGS ${CMAKE_SOURCE_DIR}/src/${${prefix}_${name}_HEADER} block REGEX "BlockLock<" LIMIT_COUNT 1)
    if(block AND NOT "${${prefix}_${name}_WORDS}" MATCHES "SAME_")
      list(APPEND found ${name})
    endif()
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()
