# Writes OUT, a C++ source with the text of IN as oriel::portrait::NAME. Usage: cmake -DIN=... -DOUT=... -DNAME=kPage -P embed.cmake
file(READ ${IN} text)
string(LENGTH "${text}" length)
set(pieces "")
set(at 0)
while(at LESS length)  # a literal may be bounded by a compiler
  string(SUBSTRING "${text}" ${at} 8000 piece)
  string(APPEND pieces "R\"text~(${piece})text~\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE ${OUT} "namespace oriel::portrait {\nextern const char* const ${NAME};\nconst char* const ${NAME} = ${pieces};\n}\n")
