# whorl.cmake - the words that the CMakeLists.txt of each directory is written in.

# How everything of whorl's own is compiled. Internal headers are included as "module/file.h" from the root, the public
# ones as <whorl/file.h>.
add_library(whorl_flags INTERFACE)
target_include_directories(whorl_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_definitions(whorl_flags INTERFACE _GNU_SOURCE)
target_compile_options(whorl_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes
					     -Wmissing-prototypes)
if(NOT WHORL_VERBS)
	target_compile_definitions(whorl_flags INTERFACE WHORL_WITHOUT_VERBS)
endif()
if(WHORL_WERROR)
	target_compile_options(whorl_flags INTERFACE -Werror)
endif()
if(WHORL_SANITIZE)
	target_compile_options(whorl_flags INTERFACE -fsanitize=${WHORL_SANITIZE} -fno-sanitize-recover=all
						     -fno-omit-frame-pointer)
	target_link_options(whorl_flags INTERFACE -fsanitize=${WHORL_SANITIZE})
endif()
if(WHORL_SANITIZE STREQUAL "thread" AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
	# gcc warns of each fence, which its ThreadSanitizer does not see; what leans on one says so where it stands.
	target_compile_options(whorl_flags INTERFACE -Wno-tsan)
endif()

# The build fails on an #include that cmake/edges.cmake does not allow. A sanitizer has nothing to add to that.
file(GLOB_RECURSE headers_and_sources CONFIGURE_DEPENDS
     LIST_DIRECTORIES false
     base/*.[ch] conf/*.[ch] transport/*.[ch] sst/*.[ch] smc/*.[ch] predicates/*.[ch] membership/*.[ch] persistence/*.[ch] state/*.[ch] group/*.[ch]
     replica/*.[ch] work/*.[ch] delegation/*.[ch] dds/*.[ch] ddsc/*.[ch] bridge/*.[ch] sim/*.[ch] command/*.[ch] resp/*.[ch] tools/*.[ch] bench/*.[ch] examples/*.[ch] include/*.h)
set(stamp ${PROJECT_BINARY_DIR}/includes.stamp)
add_custom_command(
	OUTPUT ${stamp}
	COMMAND ${CMAKE_COMMAND} -D ROOT=${PROJECT_SOURCE_DIR} -D STAMP=${stamp}
		-P ${PROJECT_SOURCE_DIR}/cmake/includes.cmake
	DEPENDS ${headers_and_sources} cmake/includes.cmake cmake/edges.cmake
	WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
	COMMENT "Checking the includes" VERBATIM)
if(WHORL_SANITIZE)
	set(stamp)
endif()
add_custom_target(includes ALL DEPENDS ${stamp})

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
	set_target_properties(wh_${arg_NAME} PROPERTIES C_VISIBILITY_PRESET hidden)
	target_link_libraries(wh_${arg_NAME} PRIVATE whorl_flags ${arg_USES})
	add_dependencies(wh_${arg_NAME} includes)
	set_property(GLOBAL APPEND PROPERTY WHORL_MODULES wh_${arg_NAME})
endfunction()
