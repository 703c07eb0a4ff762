# Makes the headers' plain comments such as Doxygen reads: the one that begins
# a file describes it, one behind a declaration describes that, and any other
# what follows it.
function plain(text) {  # no character of a comment is markup
  gsub(/[\\@<>&#%"]/, "\\\\&", text)
  gsub(/::/, "\\::", text)
  return text
}
/^\/\/ ---/ { print ""; behind = 0; next }  # a ruled heading
/^}  \/\/ namespace/ { print "}"; next }
{
  at = index($0, "// ")
  code = substr($0, 1, at - 1)
  if (!at) {
    behind = 0
    print
  } else if (code ~ /[^ ]/ || (behind && at == behind)) {
    behind = at
    print code "///< " plain(substr($0, at + 3))
  } else {
    behind = 0
    if (FNR == 1) print "/// @file"
    print code "/// " plain(substr($0, at + 3))
  }
}
