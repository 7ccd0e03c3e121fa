# bridge_peers(NAME FILE.idl SOURCE) - two programs of one source and its types: NAME_rtps on Cyclone DDS, NAME_whorl on libwhorl_ddsc. Not built by
# default; neither is there without idlc, and then NAME_FOUND is off.
function(bridge_peers name idl source)
	find_program(IDLC idlc)
	set(${name}_FOUND OFF PARENT_SCOPE)
	if(NOT TARGET whorl_dds_bridge OR NOT IDLC)
		return()
	endif()
	get_filename_component(types ${idl} NAME_WE)
	set(types ${CMAKE_CURRENT_BINARY_DIR}/${types})
	add_custom_command(OUTPUT ${types}.c ${types}.h
			   COMMAND ${IDLC} -o ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${idl}
			   DEPENDS ${idl} VERBATIM)
	set_source_files_properties(${types}.c PROPERTIES COMPILE_OPTIONS -w) # made by idlc
	add_custom_target(${name}_types DEPENDS ${types}.c ${types}.h)
	foreach(side rtps whorl)
		add_executable(${name}_${side} EXCLUDE_FROM_ALL ${source} ${types}.c)
		target_include_directories(${name}_${side} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
		set_target_properties(${name}_${side} PROPERTIES C_EXTENSIONS ON) # headers of Cyclone DDS are written in GNU C
		target_compile_options(${name}_${side} PRIVATE -w)
		add_dependencies(${name}_${side} ${name}_types)
	endforeach()
	target_link_libraries(${name}_rtps PRIVATE CycloneDDS::ddsc)
	target_link_libraries(${name}_whorl PRIVATE whorl_ddsc)
	if(WHORL_SANITIZE) # which libraries leave to the program
		target_link_options(${name}_whorl PRIVATE -fsanitize=${WHORL_SANITIZE})
	endif()
	set(${name}_FOUND ON PARENT_SCOPE)
endfunction()
