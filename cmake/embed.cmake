# embed.cmake - texts of files as arrays of a C file, each with a zero behind it:
#     cmake -D OUT=file.c -D "TEXTS=name=file;..." -P embed.cmake

set(source "/* Made by cmake/embed.cmake. */\n")
foreach(text IN LISTS TEXTS)
	string(REGEX MATCH "^([^=]+)=(.*)$" text "${text}")
	set(name ${CMAKE_MATCH_1})
	file(READ "${CMAKE_MATCH_2}" bytes HEX)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
	string(APPEND source "extern const char ${name}[];\nconst char ${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE "${OUT}" "${source}")
