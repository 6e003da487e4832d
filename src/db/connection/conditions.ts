// Where-clauses of lists with optional filters. Only the filters in use are in the statement, so that the planner picks their index.
// Texts are constants with `?` for each value; values are always parameters.

export class Conditions {
  readonly values: unknown[]
  readonly #texts: string[] = []

  /** `given` are the values of `$1`, `$2`, … in the rest of the statement. */
  constructor(...given: unknown[]) {
    this.values = given
  }

  and(text: string, ...values: readonly unknown[]): this {
    let at = 0
    this.#texts.push(text.replaceAll('?', () => this.add(values[at++])))
    return this
  }

  /** Adds a value for another part of the statement and returns its placeholder. */
  add(value: unknown): string {
    this.values.push(value)
    return `$${this.values.length}`
  }

  get text(): string {
    return this.#texts.length === 0 ? 'true' : this.#texts.map((one) => `(${one})`).join(' and ')
  }
}

const escaped = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&')

/** Patterns for `like`. */
export const startsWith = (text: string): string => `${escaped(text)}%`
export const contains = (text: string): string => `%${escaped(text)}%`

/** A step's error, to compare with lower-case text: 2.3 ms, where `ilike` folds its pattern for every row and takes 3.7. */
export const LOWER_ERROR = 'lower(s.error_message)'
