// One folding of keys (R33): members' keys, and the names of columns and variables, compare trimmed and without case. Members:
// within a source, across ticks and across batches. Names: in sources, member files, validation and templates.

export const foldKey = (key: string): string => key.trim().toLowerCase()

/** A part of a key, to search for in folded keys. Blanks stay: they may stand inside a key. */
export const foldKeyPart = (part: string): string => part.toLowerCase()

/** The spelling among `names`: the very name, else the only one that differs in case or outer blanks. */
export function spellingOf(name: string, names: readonly string[]): string | undefined {
  if (names.includes(name)) return name
  const folded = foldKey(name)
  const alike = names.filter((other) => foldKey(other) === folded)
  return alike.length === 1 ? alike[0] : undefined
}
