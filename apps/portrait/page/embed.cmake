# Writes OUT, a C++ source with the text of IN. Usage: cmake -DIN=... -DOUT=... -P embed.cmake
file(READ ${IN} text)
string(LENGTH "${text}" length)
set(pieces "")
set(at 0)
while(at LESS length)  # a literal may be bounded by a compiler
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND pieces "R\"page~(${piece})page~\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE ${OUT} "namespace oriel::portrait {\nextern const char* const kPage;\nconst char* const kPage = ${pieces};\n}\n")
