// Which test files belong to which suite, and which share a process: node:test gives each file a process of its own or all files one.
// Starting a process and opening its database costs more than most files take.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { ProcessTimes } from '../test/kit/times.ts'

export interface TestFile {
  /** From the root of the project, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** `npm test` checks every promise once, `npm run proof` runs what needs minutes, a browser, many processes or chance. */
export type Suite = 'test' | 'proof'
export const SUITES: readonly Suite[] = ['test', 'proof']

const ONLY_PROOF = /^test\/proof\//
/** Tries everything in proof, and a part of it at every commit (test/kit/variants.ts). */
const HAS_VARIANTS = /kit\/variants\.ts'/

export const isIn = (suite: Suite, { path, text }: TestFile): boolean =>
  suite === 'test' ? !ONLY_PROOF.test(path) : ONLY_PROOF.test(path) || HAS_VARIANTS.test(text)

/** What a run on a quiet machine took, as `--times` wrote it to TIMES_FILE. Processor time in seconds. */
export interface SuiteTimes {
  readonly machine: string
  readonly date: string
  readonly processes: number
  /** Of everything: the check, the runner, its processes, what they start, the PostgreSQL server. */
  readonly cpuSec: number
  readonly files: Readonly<Record<string, number>>
}
export type StoredTimes = Partial<Record<Suite, SuiteTimes>>

export const TIMES_FILE = 'test/times.json'

export const readStoredTimes = (): StoredTimes =>
  existsSync(TIMES_FILE) ? JSON.parse(readFileSync(TIMES_FILE, 'utf8')) : {}

/** Of the inner loop: of each kind those that see most for their second. */
const QUICK = new RegExp(
  `^test/(?:${[
    'house/.*',
    'base/(?!telemetry).*',
    'domain/(?!runbook/hostile).*',
    'worker/(?:[^/]+|jobs/.*|functions/.*)',
    'sandbox/(?!anything)[^/]+',
    'db/connection/db',
    'bus/(?:[^/]+|postgres/[^/]+)',
    'stories/(?:hold|retry|rollback|polling|joiner|seeds)',
    'api/(?:http|services/failure-cache|events/gapless-reader)',
    'cli/(?:commands/(?:audit|config|words)|connection/client|program/[^/]+)',
    'scheduler/(?:text-store|tick)',
  ].join('|')})\\.test\\.ts$`,
)

/** Part of `npm test -- quick`. */
export const isQuick = ({ path }: TestFile): boolean => QUICK.test(path)

/** Below it the last process would often run alone; above it starting them is what costs. */
const PROCESS_SEC = 20
/** Of a file that no stored run had. */
const UNKNOWN_SEC = 1

/** Every file once. Neighbours, which load the same modules, share a process until it is full; the longest process starts first. */
export function planProcesses(
  files: readonly TestFile[],
  seconds: Readonly<Record<string, number>>,
): string[][] {
  const processes: { paths: string[]; sec: number }[] = []
  for (const { path } of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const sec = seconds[path] ?? UNKNOWN_SEC
    const last = processes.at(-1)
    if (last && last.sec + sec <= PROCESS_SEC) {
      last.paths.push(path)
      last.sec += sec
    } else processes.push({ paths: [path], sec })
  }
  return processes.toSorted((a, b) => b.sec - a.sec).map(({ paths }) => paths)
}

/** Writes one entry a process into the folder, named so that their order is the order of the processes. */
export function writeEntries(
  processes: readonly string[][],
  folder: string,
  timesFile: string,
): string[] {
  mkdirSync(folder, { recursive: true })
  const kit = pathToFileURL(join(import.meta.dirname, '../test/kit/run-files.ts')).href
  return processes.map((paths, index) => {
    const entry = join(folder, `${String(index).padStart(3, '0')}.test.mjs`)
    const call = `runFiles(${JSON.stringify(paths, null, 2)}, ${JSON.stringify(timesFile)})`
    writeFileSync(entry, `import { runFiles } from '${kit}'\n${call}\n`)
    return entry
  })
}

/** The dearest processes first, each with its dearest file. */
export function slowest(all: readonly ProcessTimes[], count: number): string[] {
  return all
    .toSorted((a, b) => b.cpuSec - a.cpuSec)
    .slice(0, count)
    .map(({ cpuSec, files }) => {
      const [first, ...others] = Object.entries(files).toSorted(([, a], [, b]) => b - a)
      const rest = others.length === 0 ? '' : ` and ${others.length} more`
      return `${cpuSec.toFixed(1).padStart(8)} s  ${first?.[0]} (${first?.[1].toFixed(1)} s)${rest}`
    })
}
