// Published runbooks, parsed once per process. A published version never changes.
import type { Queryable } from '../../db/connection/db.ts'
import { findRunbookVersion, type PublishedRunbook } from '../../db/state/runbooks.ts'
import { type Runbook, readRunbook } from '../../domain/runbook/read.ts'

const MAX_KEPT = 200

interface ParsedText {
  readonly yaml: string
  readonly runbook: Runbook
}

export class RunbookCache {
  readonly #kept = new Map<string, Runbook>()
  /** Of every version: timers look at all that batches are on. */
  readonly #windows = new Map<string, Pick<Runbook, 'windows'>>()
  readonly #publishing = new Map<string, ParsedText>()

  async get(db: Queryable, name: string, version: number): Promise<Runbook> {
    const key = keyOf(name, version)
    const known = this.#kept.get(key)
    if (known) return known
    const published = await findRunbookVersion(db, name, version)
    if (!published) throw new Error(`version ${version} of runbook ${name} is not in the database`)
    const runbook = this.#takePublishing(key, published.yaml) ?? parse(published)
    keep(this.#kept, key, runbook)
    return runbook
  }

  /** The same object each time. */
  async windows(db: Queryable, name: string, version: number): Promise<Pick<Runbook, 'windows'>> {
    const key = keyOf(name, version)
    const known = this.#windows.get(key)
    if (known) return known
    const { windows } = await this.get(db, name, version)
    const found = { windows }
    this.#windows.set(key, found)
    return found
  }

  /**
   * Saves the next `get` the parsing, if this text becomes that version. The publishing may still be rolled back and the number go to
   * another text, so `get` compares the texts.
   */
  expect(name: string, version: number, text: ParsedText): void {
    keep(this.#publishing, keyOf(name, version), text)
  }

  #takePublishing(key: string, yaml: string): Runbook | null {
    const text = this.#publishing.get(key)
    this.#publishing.delete(key)
    return text?.yaml === yaml ? text.runbook : null
  }
}

const keyOf = (name: string, version: number): string => `${name.toLowerCase()}@${version}`

function keep<T>(kept: Map<string, T>, key: string, value: T): void {
  if (kept.size >= MAX_KEPT) kept.delete(kept.keys().next().value!)
  kept.set(key, value)
}

function parse({ name, version, yaml }: PublishedRunbook): Runbook {
  const { runbook, problems } = readRunbook(yaml)
  if (runbook) return runbook
  throw new Error(
    `version ${version} of runbook ${name} can no longer be read: ${problems[0]?.message}`,
  )
}
