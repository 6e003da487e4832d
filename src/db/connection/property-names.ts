// SQL names columns in snake case, the program in camel case. Both databases translate here, once per description of a result, so no
// statement names a column twice. A test compares what statements return with the types of their rows.
const NAMES_MAX = 5_000
const names = new Map<string, string>()

/** `batch_start_time` is `batchStartTime`; other names stay as they are. */
function propertyOf(column: string): string {
  let property = names.get(column)
  if (property === undefined) {
    property = column.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    if (names.size < NAMES_MAX) names.set(column, property)
  }
  return property
}

/** Renames the fields of a result's description, in place: both drivers make their rows from it. */
export function nameProperties(fields: readonly { name: string }[]): void {
  for (const field of fields) field.name = propertyOf(field.name)
}
