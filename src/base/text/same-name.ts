// Equal names. People write the names of runbooks, workers, functions, parameters, phases and steps in any case; each is one name.
// Keys and columns are folded more: src/domain/state/member-key.ts.

export const sameName = (one: string, other: string): boolean =>
  one === other || one.toLowerCase() === other.toLowerCase()

export const named = <T extends { readonly name: string }>(
  list: readonly T[],
  name: string,
): T | undefined => list.find((one) => sameName(one.name, name))

/** The value of a key. */
export const valueNamed = <T>(values: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.entries(values).find(([key]) => sameName(key, name))?.[1]
