# Leaves the families of LOCKSWAP_WITHOUT out of the lists that lists.cmake has read. A family is a word of its locks'
# names. `bravo` means the locks under BRAVO, `range` the range locks that are not made of reader-writer locks.
#
# C++ finds the lists that remain before those of src/, and in config/left_out.def what they lack.
set(LOCKSWAP_REDUCED ${CMAKE_BINARY_DIR}/src/reduced)
include_directories(BEFORE ${LOCKSWAP_REDUCED})
string(REPLACE "," ";" families "${LOCKSWAP_WITHOUT}")
set(left_out)  # names of locks
set(used)      # families that left something out

# family_of(NAME MACRO OUT): the family of LOCKSWAP_WITHOUT to which the line of the lists belongs.
function(family_of name macro out)
  set(${out} "" PARENT_SCOPE)
  foreach(family IN LISTS families)
    if("-${name}-" MATCHES "-${family}-" OR "${family}/${macro}" STREQUAL "range/RANGE_LOCK")
      set(${out} ${family} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# leave_out(FILE PREFIX): that list without these families.
macro(leave_out file prefix)
  set(text "// Written by src/without.cmake.\n")
  set(names)
  set(classes)  # those that are left out; another name for one of them goes with it
  foreach(name IN LISTS ${prefix}_NAMES)
    set(line ${prefix}_${name})
    family_of(${name} ${${line}_MACRO} family)
    if(UNDER_BRAVO IN_LIST ${line}_WORDS AND (family OR "bravo" IN_LIST families))
      list(APPEND left_out bravo-${name} bravo-asym-${name})
      list(APPEND used bravo)
      list(FILTER ${line}_WORDS EXCLUDE REGEX "BRAVO|ASYM")
      if(NOT ${line}_WORDS)
        set(${line}_WORDS NO_WORDS)
      endif()
    endif()
    if(family OR ${line}_CLASS IN_LIST classes)
      list(APPEND used ${family})
      list(APPEND left_out ${name})
      if(NOT ${line}_MACRO MATCHES "_NAME$")
        list(APPEND classes ${${line}_CLASS})
      endif()
    else()
      list(APPEND names ${name})
      put_line(text ${line} ${name})
    endif()
  endforeach()
  if(NOT names)
    message(FATAL_ERROR "LOCKSWAP_WITHOUT=${LOCKSWAP_WITHOUT} leaves no line of ${file}; name fewer families")
  endif()
  set(${prefix}_NAMES ${names})
  lockswap_write(${LOCKSWAP_REDUCED}/registry/${file} "${text}")
endmacro()

# put_line(OUT LINE NAME): appends that line of a list.
function(put_line out line name)
  string(REPLACE ";" " | " words "${${line}_WORDS}")
  if(${line}_MACRO MATCHES "^RANGE")
    set(rest "")
  else()
    set(rest ", ${words}")
  endif()
  string(APPEND ${out} "${${line}_MACRO}(\"${name}\", ${${line}_CLASS}, \"${${line}_HEADER}\"${rest}${${line}_INFO})\n")
  set(${out} "${${out}}" PARENT_SCOPE)
endfunction()

leave_out(rw_list.def LOCKSWAP_RW)
leave_out(mutex_list.def LOCKSWAP_MUTEX)
leave_out(range_list.def LOCKSWAP_RANGE)

foreach(family IN LISTS families)
  if(NOT family IN_LIST used)
    message(FATAL_ERROR "LOCKSWAP_WITHOUT=${LOCKSWAP_WITHOUT}: no lock has the word '${family}' in its name; "
      "name families such as bravo,gcr,range, with commas between them")
  endif()
endforeach()
set(text "// Written by src/without.cmake.\n")
list(REMOVE_DUPLICATES left_out)
foreach(name IN LISTS left_out)
  string(APPEND text "LEFT_OUT(\"${name}\")\n")
endforeach()
lockswap_write(${LOCKSWAP_REDUCED}/config/left_out.def "${text}")
