# mutate.cmake - makes one mutated copy of a source file:
#     cmake -D IN=file -D OUT=file -D EDIT=directory -P mutate.cmake
# EDIT holds the files `text` and `replacement`, and perhaps `text_2` and `replacement_2`. Fails if a text is not in the file
# exactly once.

include(${CMAKE_CURRENT_LIST_DIR}/fit.cmake)
file(READ ${IN} source)
foreach(edit "" _2)
	file(READ ${EDIT}/text${edit} text)
	file(READ ${EDIT}/replacement${edit} replacement)
	string(REGEX REPLACE "\n$" "" text "${text}") # so that it may end within a line
	string(REGEX REPLACE "\n$" "" replacement "${replacement}")
	if(text STREQUAL "")
		continue() # there is only one
	endif()
	must_fit("${IN}" "${source}" "${text}")
	string(REPLACE "${text}" "${replacement}" source "${source}")
endforeach()
file(WRITE ${OUT} "${source}")
