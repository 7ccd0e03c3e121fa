# whorl.cmake - the words that the CMakeLists.txt of each directory is written in.

# How everything of whorl's own is compiled. Internal headers are included as "module/file.h" from the root, the public
# ones as <whorl/file.h>.
add_library(whorl_flags INTERFACE)
target_include_directories(whorl_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(whorl_flags INTERFACE _GNU_SOURCE)
target_compile_options(whorl_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow)
if(WHORL_WERROR)
	target_compile_options(whorl_flags INTERFACE -Werror)
endif()
if(WHORL_SANITIZE)
	target_compile_options(whorl_flags INTERFACE -fsanitize=${WHORL_SANITIZE} -fno-sanitize-recover=all
						     -fno-omit-frame-pointer)
	target_link_options(whorl_flags INTERFACE -fsanitize=${WHORL_SANITIZE})
endif()

# whorl_module(NAME n SOURCES file... [USES target...])
#
# One module of the library: an object library wh_<n>, compiled once for all that is made of it. USES names what it is
# compiled and linked with, from outside (PkgConfig::inih). A module without sources is left out.
function(whorl_module)
	cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;USES")
	if(NOT arg_SOURCES)
		return()
	endif()
	add_library(wh_${arg_NAME} OBJECT ${arg_SOURCES})
	target_link_libraries(wh_${arg_NAME} PUBLIC ${arg_USES} PRIVATE whorl_flags)
	set_property(GLOBAL APPEND PROPERTY WHORL_MODULES wh_${arg_NAME})
	set_property(GLOBAL APPEND PROPERTY WHORL_USES ${arg_USES})
endfunction()
