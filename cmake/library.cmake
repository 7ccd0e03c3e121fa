# library.cmake - what is made of the modules: the static and the shared library, and how they are installed.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(modules GLOBAL PROPERTY WHORL_MODULES)
list(TRANSFORM modules REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
if(NOT objects)
	message(FATAL_ERROR "there is no source")
endif()

add_library(whorl_static STATIC ${objects})
add_library(whorl SHARED ${objects})
add_library(whorl::whorl_static ALIAS whorl_static)
add_library(whorl::whorl ALIAS whorl)
foreach(library whorl_static whorl)
	set_target_properties(${library} PROPERTIES OUTPUT_NAME whorl LINKER_LANGUAGE C)
	target_include_directories(${library} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
							$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
	target_link_libraries(${library} PRIVATE PkgConfig::inih PkgConfig::urcu ${WHORL_OPENSSL} ${WHORL_RDMA}
					 Threads::Threads)
endforeach()
set_target_properties(whorl PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
				       LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/whorl.map)
target_link_options(whorl PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/whorl.map)
if(WHORL_SANITIZE)
	target_link_options(whorl PRIVATE -fsanitize=${WHORL_SANITIZE})
else()
	target_link_options(whorl PRIVATE -Wl,--no-undefined)
endif()

# What a program is linked with. (`whorl` is this library to make, and to ninja the command, which is a file of that name.)
add_custom_target(library)
add_dependencies(library whorl whorl_static)

# For the command and the tests: the archive with a view of its inside, which a stranger does not get.
add_library(whorl_internal INTERFACE)
target_link_libraries(whorl_internal INTERFACE whorl_static whorl_flags PkgConfig::urcu ${WHORL_OPENSSL} ${WHORL_RDMA}
					Threads::Threads)

# ---- installation -----------------------------------------------------------------------------------------------------
# Everything is relocatable: `cmake --install build --prefix X` needs no new configuration.

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/whorl)
# The components are for cmake/package.cmake.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
install(TARGETS whorl EXPORT whorlTargets LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS whorl_static EXPORT whorlStaticTargets)
install(DIRECTORY include/whorl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h
	PATTERN dds.h EXCLUDE # dds/CMakeLists.txt installs it, with its library
	PATTERN compat EXCLUDE) # and ddsc/CMakeLists.txt this
file(GLOB scenarios CONFIGURE_DEPENDS conf/*.ini)
install(FILES ${scenarios} DESTINATION ${CMAKE_INSTALL_DATADIR}/whorl COMPONENT command)
install(DIRECTORY conf/figures conf/planning DESTINATION ${CMAKE_INSTALL_DATADIR}/whorl COMPONENT command)

install(EXPORT whorlTargets NAMESPACE whorl:: DESTINATION ${package_dir})
install(EXPORT whorlStaticTargets NAMESPACE whorl:: DESTINATION ${package_dir})
configure_package_config_file(cmake/whorlConfig.cmake.in ${PROJECT_BINARY_DIR}/cmake/whorlConfig.cmake
			      INSTALL_DESTINATION ${package_dir})
# Below 1.0 each minor version may break what the last one promised.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/whorlConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cmake/whorlConfig.cmake ${PROJECT_BINARY_DIR}/cmake/whorlConfigVersion.cmake
	DESTINATION ${package_dir})

file(RELATIVE_PATH pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_to_prefix ${pc_to_prefix})
configure_file(cmake/whorl.pc.in ${PROJECT_BINARY_DIR}/cmake/whorl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cmake/whorl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# whorl_embed(TARGET name=file...): the texts of these files are in the program, each as `const char wh_template_NAME[]` with a zero behind it
# (bench/plot/template.h), so that it has no folder to find.
function(whorl_embed target)
	set(files "")
	set(texts "")
	foreach(template IN LISTS ARGN)
		string(REGEX MATCH "^([^=]+)=(.*)$" template "${template}")
		set(file ${CMAKE_CURRENT_SOURCE_DIR}/${CMAKE_MATCH_2})
		list(APPEND files ${file})
		list(APPEND texts wh_template_${CMAKE_MATCH_1}=${file})
	endforeach()
	set(out ${CMAKE_CURRENT_BINARY_DIR}/${target}_templates.c)
	set(script ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
	add_custom_command(OUTPUT ${out} COMMAND ${CMAKE_COMMAND} -D OUT=${out} -D "TEXTS=${texts}" -P ${script}
			   DEPENDS ${files} ${script} COMMENT "Embedding templates of ${target}" VERBATIM)
	target_sources(${target} PRIVATE ${out})
endfunction()
