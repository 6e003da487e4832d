// Shared by the tests of all sources: a data source with defaults, a clock whose short waits return at once, and reading a
// whole result.
import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type ErrorCode, MatoolkitError } from '../../../src/base/errors/errors.ts'
import type { Clock } from '../../../src/base/run/clock.ts'
import type { Tokens } from '../../../src/base/sign-in/token.ts'
import type { DataSource } from '../../../src/domain/runbook/model.ts'
import type { SourceColumn, SourceRow } from '../../../src/domain/sources/source-values.ts'
import {
  makeSourceTokens,
  openSource,
  type SourceSettings,
  sourceName,
} from '../../../src/scheduler/sources/source.ts'

export const TIMEOUT_MS = 300_000
export const START = new Date('2026-01-01T00:00:00Z')

export interface SkippingClock extends Clock {
  /** Total time waited, and how often. */
  readonly waitedMs: number[]
  turnOn(ms: number): void
  /** Lets the query time out. */
  ring(): void
}

/** Short waits return at once; the query timeout fires when the test says so. */
export function skippingClock(): SkippingClock {
  const bells = new Set<() => void>()
  const waitedMs: number[] = []
  let nowMs = +START
  return {
    kind: 'virtual',
    now: () => new Date(nowMs),
    wait: (ms, signal) =>
      new Promise((resolve) => {
        signal?.addEventListener('abort', () => resolve())
        if (ms >= TIMEOUT_MS) return void bells.add(resolve)
        waitedMs.push(ms)
        nowMs += ms
        setImmediate(resolve)
      }),
    waitedMs,
    turnOn: (ms) => {
      nowMs += ms
    },
    ring: () => {
      for (const bell of bells) bell()
    },
  }
}

export const dataSource = (parts: Partial<DataSource>): DataSource => ({
  type: 'csv',
  connection: null,
  warehouseId: null,
  path: null,
  query: null,
  primaryKey: 'id',
  batchTimeColumn: null,
  timeZone: null,
  columns: null,
  multiValuedColumns: [],
  ...parts,
})

export interface TestSettings {
  readonly variables?: Readonly<Record<string, string>>
  readonly folder?: string
  readonly clock?: SkippingClock
  readonly tokens?: Tokens
}

export function settingsOf(parts: TestSettings): SourceSettings {
  const clock = parts.clock ?? skippingClock()
  return {
    connection: (name) => parts.variables?.[name],
    clock,
    tokens: parts.tokens ?? makeSourceTokens(clock),
    folder: parts.folder ?? null,
    timeoutMs: TIMEOUT_MS,
  }
}

export const NEVER = new AbortController().signal

export async function readAll(
  source: DataSource,
  settings: SourceSettings,
): Promise<{ columns: readonly SourceColumn[]; rows: SourceRow[]; chunks: number }> {
  const result = await openSource(source, settings, NEVER)
  const rows: SourceRow[] = []
  let chunks = 0
  for await (const chunk of result.rows) {
    rows.push(...chunk)
    chunks += 1
  }
  return { columns: result.columns, rows, chunks }
}

/** The coded error of a read. Its message names the source and none of the secrets. */
export async function errorOf(
  source: DataSource,
  settings: SourceSettings,
  code: ErrorCode,
  secrets: readonly string[] = [],
): Promise<string> {
  const error = await readAll(source, settings).then(
    () => assert.fail('it should have failed'),
    (failure: unknown) => failure,
  )
  return requireError(error, source, code, secrets)
}

export function requireError(
  error: unknown,
  source: DataSource,
  code: ErrorCode,
  secrets: readonly string[],
): string {
  assert.ok(error instanceof MatoolkitError, String(error))
  assert.equal(error.code, code, error.message)
  assert.ok(error.message.includes(sourceName(source)), error.message)
  assert.doesNotMatch(error.message, /\{\w+\}|\.\.(?: |$)/)
  const whole = `${error.message} ${JSON.stringify(error.details)} ${error.stack}`
  for (const secret of secrets) assert.ok(!whole.includes(secret), `${error.message} has a secret`)
  return error.message
}

/** Runs the garbage collector now. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
}

/** A few turns of the event loop, until nothing moves without the reader. */
export async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
}
