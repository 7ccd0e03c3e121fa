# package.cmake - manual pages, examples and completion, and Debian packages, three and one of the bridge: `cpack -G DEB` in the build directory.

# A page for each function, from the headers. What has a sanitizer in it is not for packages.
set(pages_built ALL)
if(WHORL_SANITIZE)
	set(pages_built "")
	set(pages_optional OPTIONAL)
endif()
file(STRINGS cmake/whorl.map names REGEX "^[ \t]whorl_[a-z_]+;$")
list(TRANSFORM names REPLACE "^[ \t](whorl_[a-z_]+);$" "\\1")
set(pages ${names})
list(TRANSFORM pages PREPEND ${PROJECT_BINARY_DIR}/man/man3/)
list(TRANSFORM pages APPEND .3)
list(PREPEND pages ${PROJECT_BINARY_DIR}/man/man3/whorl.3)
set(headers "")
foreach(header result message whorl replica delegate status) # what is used stands before what uses it
	list(APPEND headers ${PROJECT_SOURCE_DIR}/include/whorl/${header}.h)
endforeach()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man/man3)
add_custom_command(OUTPUT ${pages}
		   COMMAND awk -v version=${PROJECT_VERSION} -v directory=${PROJECT_BINARY_DIR}/man/man3
			   -f ${PROJECT_SOURCE_DIR}/cmake/headers.awk -f ${PROJECT_SOURCE_DIR}/cmake/man-api.awk ${headers}
		   DEPENDS ${headers} cmake/headers.awk cmake/man-api.awk cmake/whorl.map COMMENT "Writing the manual pages of the interface" VERBATIM)
add_custom_target(man_api ${pages_built} DEPENDS ${pages})
install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 ${pages_optional})

# The same of topics, which are another library's.
if(WHORL_DDS)
	file(STRINGS cmake/whorl_dds.map pages REGEX "^[ \t]whorl_[a-z_]+;$")
	list(TRANSFORM pages REPLACE "^[ \t](whorl_[a-z_]+);$" "${PROJECT_BINARY_DIR}/man/man3/\\1.3")
	list(PREPEND pages ${PROJECT_BINARY_DIR}/man/man3/whorl_dds.3)
	set(header ${PROJECT_SOURCE_DIR}/include/whorl/dds.h)
	add_custom_command(OUTPUT ${pages}
			   COMMAND awk -v version=${PROJECT_VERSION} -v directory=${PROJECT_BINARY_DIR}/man/man3 -v library=whorl_dds
				   -f ${PROJECT_SOURCE_DIR}/cmake/headers.awk -f ${PROJECT_SOURCE_DIR}/cmake/man-api.awk ${header}
			   DEPENDS ${header} cmake/headers.awk cmake/man-api.awk cmake/whorl_dds.map
			   COMMENT "Writing the manual pages of topics" VERBATIM)
	add_custom_target(man_dds ${pages_built} DEPENDS ${pages})
	install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 ${pages_optional})
endif()

# A page for each command, from what the command says with --help. A command with a sanitizer in it does not run everywhere, and is
# not for packages.
if(NOT WHORL_SANITIZE)
	set(pages "")
	set(page_commands "")
	foreach(command "" bench calibrate config dds delegate launch log node report sim status)
		set(name whorl)
		if(command)
			set(name whorl-${command})
		endif()
		string(STRIP "whorl ${command}" call)
		list(APPEND pages ${PROJECT_BINARY_DIR}/man/${name}.1)
		list(APPEND page_commands COMMAND ${CMAKE_COMMAND} -E env ARGP_HELP_FMT=rmargin=200 LC_ALL=C $<TARGET_FILE:whorl_command> ${command}
					  --help > ${name}.help
					  COMMAND awk -v name=${name} -v version=${PROJECT_VERSION} -v "call=${call}" -f
					  ${PROJECT_SOURCE_DIR}/cmake/man.awk ${name}.help > ${name}.1)
	endforeach()
	set(ini_page ${PROJECT_BINARY_DIR}/man/whorl.ini.5)
	list(APPEND page_commands COMMAND ${CMAKE_COMMAND} -E env LC_ALL=C $<TARGET_FILE:whorl_command> config --describe > ini.described
				  COMMAND awk -v version=${PROJECT_VERSION} -f ${PROJECT_SOURCE_DIR}/cmake/man-ini.awk ini.described > whorl.ini.5)
	add_custom_command(OUTPUT ${pages} ${ini_page} ${page_commands} DEPENDS whorl_command cmake/man.awk cmake/man-ini.awk WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/man
			   COMMENT "Writing the manual pages" VERBATIM)
	if(TARGET whorl_dds_bridge)
		set(bridge_page ${PROJECT_BINARY_DIR}/man/whorl-dds-bridge.1)
		add_custom_command(OUTPUT ${bridge_page}
				   COMMAND ${CMAKE_COMMAND} -E env ARGP_HELP_FMT=rmargin=200 LC_ALL=C $<TARGET_FILE:whorl_dds_bridge> --help > whorl-dds-bridge.help
				   COMMAND awk -v name=whorl-dds-bridge -v version=${PROJECT_VERSION} -v "call=whorl-dds-bridge" -f
					   ${PROJECT_SOURCE_DIR}/cmake/man.awk whorl-dds-bridge.help > whorl-dds-bridge.1
				   DEPENDS whorl_dds_bridge cmake/man.awk WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/man COMMENT "Writing the manual page of the bridge" VERBATIM)
		install(FILES ${bridge_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT bridge)
	endif()
	add_custom_target(man ALL DEPENDS ${pages} ${ini_page} ${bridge_page})
	install(FILES ${pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
	install(FILES ${ini_page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT command)
endif()
file(GLOB examples CONFIGURE_DEPENDS examples/*.c)
install(FILES ${examples} DESTINATION ${CMAKE_INSTALL_DOCDIR}/examples)
install(FILES cmake/whorl.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME whorl COMPONENT command)

# ---- Debian ---------------------------------------------------------------------------------------------------------------

set(CPACK_PACKAGE_NAME whorl)
set(CPACK_PACKAGE_CONTACT "whorl")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL library development command)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_STRIP_FILES ON)

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libwhorl${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION "The shared library.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libwhorl-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
# Those behind the first are for static links.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libwhorl${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}), libinih-dev, liburcu-dev")
if(WHORL_TLS)
	string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libssl-dev")
endif()
if(WHORL_VERBS)
	string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libibverbs-dev, librdmacm-dev")
endif()
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Headers, the archive, manual pages of the interface, examples, and files for CMake and pkg-config.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME whorl)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "gnuplot-nox")
set(CPACK_COMPONENT_COMMAND_DESCRIPTION "The command, its manual pages and its files of examples.")

# The bridge to RTPS: of its own, as it needs libddsc, and no other part does.
if(TARGET whorl_dds_bridge)
	list(APPEND CPACK_COMPONENTS_ALL bridge)
	set(CPACK_DEBIAN_BRIDGE_PACKAGE_NAME whorl-dds-bridge)
	set(CPACK_DEBIAN_BRIDGE_PACKAGE_SHLIBDEPS ON)
	set(CPACK_COMPONENT_BRIDGE_DESCRIPTION "Passes samples between topics and programs that speak RTPS.")
endif()

include(CPack)
