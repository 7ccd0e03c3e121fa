# fit.cmake - a text that a mutant quotes is in its file exactly once: for mutants that are built, and those that are not.

# `source`: what the file says. The end of the text's last line does not count, so that it may end within a line.
function(must_fit file source text)
	string(REGEX REPLACE "\n$" "" text "${text}")
	string(FIND "${source}" "${text}" first)
	string(FIND "${source}" "${text}" last REVERSE)
	if(first EQUAL -1)
		message(FATAL_ERROR "a mutant in tests/mutants: ${file} does not contain:\n${text}")
	elseif(NOT text STREQUAL "" AND NOT first EQUAL last)
		message(FATAL_ERROR "a mutant in tests/mutants: ${file} contains more than once:\n${text}")
	endif()
endfunction()
