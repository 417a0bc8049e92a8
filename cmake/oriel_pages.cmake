# The pages of docs/ that users read, as an installation has them: `python -m oriel.docs` prints them, and cmake --install puts
# them into share/doc/oriel. Pages for developers stay out, and of the pictures all but the small ones of the rules.
function(oriel_install_pages destination)
  set(docs ${PROJECT_SOURCE_DIR}/docs)
  file(GLOB_RECURSE pages RELATIVE ${docs} CONFIGURE_DEPENDS ${docs}/*.md)
  list(FILTER pages EXCLUDE REGEX "^(developers/.*|index|architecture|cpu|cpu-log|performance-log|portrait-network|style)\\.md$")
  file(GLOB pictures RELATIVE ${docs} CONFIGURE_DEPENDS ${docs}/images/rules/*.svg ${docs}/images/explain/*.svg)
  foreach(page IN LISTS pages pictures)
    get_filename_component(folder ${page} DIRECTORY)
    install(FILES ${docs}/${page} DESTINATION ${destination}/${folder})
  endforeach()
endfunction()
