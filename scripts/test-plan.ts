// Which test files share a process, and in which order the processes start. Starting a process and opening its database cost more
// than most files take: 190 processes spent a third of the suite's processor time on that.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

export interface TestFile {
  /** From the root of the project, with forward slashes. */
  readonly path: string
  readonly text: string
}

/** The slowest first: started last, one of them would keep one core busy while the other has nothing left to do. */
export const SLOW: readonly string[] = [
  'test/stories/seeds.test.ts',
  'test/proof/chaos/chaos.test.ts',
  'test/proof/demo/demo.test.ts',
  'test/proof/simulation/mutants.test.ts',
  'test/proof/operators/operators.test.ts',
  'test/proof/races/races.test.ts',
  'test/proof/processes/documents.test.ts',
  'test/proof/kill/kill.test.ts',
  'test/m365/functions/situations.test.ts',
]

/** What a file does to its whole process: hooks around every test, settings, signals, programs it starts, changed modules. */
const NEEDS_OWN_PROCESS =
  /^(?:before|after|beforeEach|afterEach)\(|\bprocess\.(?:env|on|once|emit|chdir)\b|\bglobalThis\.\w+ =|child_process|processes\.ts|mutant-loader|\bstartPostgres\b|worker_threads|\bopenOn\(/m

/** Files of the inner loop that a folder or a name stands for: of each kind those that see most for their second. */
const QUICK = new RegExp(
  `^test/(?:${[
    'house/.*',
    'base/(?!telemetry).*',
    'domain/(?!runbook/hostile).*',
    'worker/(?:[^/]+|jobs/.*|functions/.*)',
    'sandbox/(?!anything)[^/]+',
    'proof/simulation/place',
    'db/connection/db',
    'bus/(?:[^/]+|postgres/[^/]+)',
    'stories/(?:hold|retry|rollback|polling|joiner)',
    'api/(?:http|services/failure-cache|events/gapless-reader)',
    'cli/(?:commands/(?:audit|config|words)|connection/client|program/[^/]+)',
    'scheduler/(?:attention|text-store|tick)',
  ].join('|')})\\.test\\.ts$`,
)
/** Fast although they mention settings; of the seeds only a few. */
const ALSO_QUICK = ['stories/seeds', 'house/tidy', 'base/log/log', 'base/settings/config'].map(
  (name) => `test/${name}.test.ts`,
)

/** Part of `npm test -- quick`. */
export function isQuick({ path, text }: TestFile): boolean {
  if (ALSO_QUICK.includes(path)) return true
  return QUICK.test(path) && !SLOW.includes(path) && !NEEDS_OWN_PROCESS.test(text)
}

const FILES_PER_PROCESS = 9

/** Every file once, in processes of their own or together with others of their folder. */
export function planProcesses(files: readonly TestFile[]): string[][] {
  const isAlone = ({ path, text }: TestFile) => SLOW.includes(path) || NEEDS_OWN_PROCESS.test(text)
  const slow = SLOW.filter((path) => files.some((file) => file.path === path))
  const together = Map.groupBy(
    files.filter((file) => !isAlone(file)),
    ({ path }) =>
      path
        .split('/')
        .slice(0, path.startsWith('test/proof/') ? 3 : 2)
        .join('/')
        .replace(/\/[^/]+\.test\.ts$/, ''),
  )
  const groups = [...together.values()].flatMap((group) => {
    const processes = Math.ceil(group.length / FILES_PER_PROCESS)
    // Dealt out in turns, as the long files of a folder often have neighbouring names.
    return Array.from({ length: processes }, (_, turn) =>
      group.filter((_, index) => index % processes === turn).map(({ path }) => path),
    )
  })
  const alone = files.filter((file) => isAlone(file) && !SLOW.includes(file.path))
  return [
    ...slow.map((path) => [path]),
    ...groups.toSorted((a, b) => b.length - a.length),
    ...alone.map(({ path }) => [path]),
  ]
}

/** Writes one entry a process into the folder, named so that their order is the order of the processes. Each notes its time in `timesFile`. */
export function writeEntries(
  processes: readonly string[][],
  root: string,
  folder: string,
  timesFile: string | null = null,
): string[] {
  mkdirSync(folder, { recursive: true })
  return processes.map((files, index) => {
    const urls = files.map((file) => pathToFileURL(join(root, file)).href)
    const entry = join(folder, `${String(index).padStart(3, '0')}.test.mjs`)
    const times = timesFile === null ? '' : noteTimes(timesFile, files)
    writeFileSync(entry, `${times}${LOAD}\nawait load(${JSON.stringify(urls, null, 2)})\n`)
    return entry
  })
}

/** A file that cannot be loaded fails under its own name, and the others of its process still run. */
const LOAD = `import { test } from 'node:test'
async function load(urls) {
  for (const url of urls) {
    try {
      await import(url)
    } catch (error) {
      test(\`\${url} cannot be loaded\`, () => { throw error })
    }
  }
}`

/** Times that a process took, in seconds. */
export interface ProcessTimes {
  readonly files: readonly string[]
  /** Of the process and of all it started and waited for. */
  readonly cpuSec: number
  readonly wallSec: number
}

/** Linux counts a process's own time and that of its ended children in hundredths of a second. */
const noteTimes = (timesFile: string, files: readonly string[]): string => `
import { appendFileSync, readFileSync } from 'node:fs'
process.on('exit', () => {
  const counts = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ').slice(11, 15)
  const cpuSec = counts.reduce((sum, count) => sum + Number(count), 0) / 100
  const times = { files: ${JSON.stringify(files)}, cpuSec, wallSec: process.uptime() }
  appendFileSync(${JSON.stringify(timesFile)}, JSON.stringify(times) + '\\n')
})
`

/** The dearest processes first. */
export function renderTimes(all: readonly ProcessTimes[]): string {
  const lines = all
    .toSorted((a, b) => b.cpuSec - a.cpuSec)
    .map(
      ({ files, cpuSec, wallSec }) =>
        `${cpuSec.toFixed(1).padStart(8)} ${wallSec.toFixed(1).padStart(8)}  ${files.join(' ')}`,
    )
  const sum = all.reduce((total, { cpuSec }) => total + cpuSec, 0)
  return [
    `processor time and time in seconds; ${(sum / 60).toFixed(1)} minutes of processor time in all`,
    ...lines,
  ].join('\n')
}
