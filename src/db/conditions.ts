// The where-clause of a list with optional filters: only what was asked for stands in the statement, so that the planner sees
// which index serves it. Texts are constants of ours with `?` for each value; values are always parameters.

export class Conditions {
  readonly values: unknown[]
  readonly #texts: string[] = []

  /** `given` are the values of `$1`, `$2`, … that the statement around uses itself. */
  constructor(...given: unknown[]) {
    this.values = given
  }

  and(text: string, ...values: readonly unknown[]): this {
    let at = 0
    this.#texts.push(text.replaceAll('?', () => this.add(values[at++])))
    return this
  }

  /** The place of one more value, for a part of the statement that is no condition. */
  add(value: unknown): string {
    this.values.push(value)
    return `$${this.values.length}`
  }

  get text(): string {
    return this.#texts.length === 0 ? 'true' : this.#texts.map((one) => `(${one})`).join(' and ')
  }
}

const escaped = (text: string): string => text.replaceAll(/[\\%_]/g, '\\$&')

/** For `like`: texts that begin with this, or hold it. */
export const startsWith = (text: string): string => `${escaped(text)}%`
export const contains = (text: string): string => `%${escaped(text)}%`

/** The error of a step, to be compared with a lower-case text. `ilike` makes its pattern lower-case for every row: 3.7 ms, this 2.3. */
export const LOWER_ERROR = 'lower(s.error_message)'
