// Records written outside the database by the process that acted. The kernel has a line before the next action starts, so it
// survives any death of the process; a truncated line counts as not written.
import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'

export interface Effect {
  /** `taken`: a claim brought it. `given-back`: abandoned halfway. `answered`: the bus has acknowledged the result. */
  readonly what: 'taken' | 'begin' | 'end' | 'given-back' | 'answered'
  readonly jobId: string
  readonly pid: number
  readonly at: number
  /** Of taken: when the claim was sent. Its lease begins no earlier. */
  readonly askedAt?: number
  /** Of begin and end: the member's step. */
  readonly key?: string
  readonly step?: string
  /** Of end: the step passes with this result. */
  readonly passes?: boolean
}

/** An answered operator action. `actor` is a name used for this action only. */
export interface Acknowledged {
  readonly actor: string
  readonly what: string
  readonly batchId: number
  readonly at: number
}

/** Something a process noticed: transient errors are expected, others are findings. */
export interface Noticed {
  readonly what: 'error' | 'unexpected' | 'lease-lost'
  readonly name: string
  readonly at: number
  readonly message: string
  readonly count?: number
}

interface Lines {
  readonly effects: Effect
  readonly acknowledged: Acknowledged
  readonly noticed: Noticed
}

export interface Journal<K extends keyof Lines> {
  write(line: Lines[K]): void
  close(): void
}

/** One file per writer, so nobody waits for anybody. */
export function openJournal<K extends keyof Lines>(
  folder: string,
  kind: K,
  writer: string,
): Journal<K> {
  const file = openSync(join(folder, `${writer}.${kind}.jsonl`), 'a')
  return {
    write: (line) => void writeSync(file, `${JSON.stringify(line)}\n`),
    close: () => closeSync(file),
  }
}

/** All lines of a kind, by time. */
export function readJournals<K extends keyof Lines>(folder: string, kind: K): Lines[K][] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(`.${kind}.jsonl`))
    .flatMap((file) => wholeLines(readFileSync(join(folder, file), 'utf8')))
    .map((line) => JSON.parse(line) as Lines[K])
    .sort((a, b) => a.at - b.at)
}

const wholeLines = (text: string): string[] => text.split('\n').slice(0, -1)
