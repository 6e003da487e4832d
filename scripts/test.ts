// `npm test` and `npm run proof`: the check and every promise once, and everything that takes longer. USAGE has the other ways to call them.
import { spawn } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { cpuSec, type ProcessTimes } from '../test/kit/times.ts'
import {
  isIn,
  isQuick,
  planProcesses,
  readStoredTimes,
  type Suite,
  slowest,
  TIMES_FILE,
  writeEntries,
} from './test-plan.ts'

const USAGE = `npm test                       types, lint, format, and every promise once
npm test -- quick              the inner loop, a minute: the check, rules of the house, domain, fast unit
                               tests, some stories and seeds
npm test -- test/bus races     the files of both suites whose path contains one of the words, in all variants
npm run proof                  what needs minutes, a browser, many processes or chance, and all variants
npm run proof -- chaos races   the files of it whose path contains one of the words
npm run proof -- --test-shard=1/4
                               a quarter of it
npm test -- --times            also store what each file took (${TIMES_FILE}); for a quiet machine with Linux
npm test -- --test-name-pattern=hold test/stories
                               other options are those of "node --test"`

/** One more than there are cores: tests of processes wait for most of their time. Two more gained nothing. */
const PROCESSES = availableParallelism() + 1
const SLOWEST = 5

const [suite, ...args] = process.argv.slice(2) as [Suite, ...string[]]
if (args.includes('--help')) {
  console.log(USAGE)
  process.exit(0)
}
const flags = args.filter((arg) => arg.startsWith('--') && arg !== '--times')
const words = args.filter((arg) => !arg.startsWith('--'))
const isQuickRun = suite === 'test' && words.length === 1 && words[0] === 'quick'
const isWhole = words.length === 0 && flags.length === 0
const isChosen = words.length > 0 && !isQuickRun

const all = globSync('test/**/*.test.ts')
  .map((path) => path.replaceAll('\\', '/'))
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
const files = all.filter((file) => {
  if (isQuickRun) return isQuick(file)
  if (suite === 'test' && isChosen) return words.some((word) => file.path.includes(word))
  return isIn(suite, file) && (!isChosen || words.some((word) => file.path.includes(word)))
})
if (files.length === 0) {
  console.error(`no test file matches "${words.join(' ')}". Try: npm test -- --help`)
  process.exit(2)
}

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-tests-'))
const timesFile = join(folder, 'times')
const countsFile = join(folder, 'counts')
const startedAt = Date.now()
const began = cpuSec()

/** What the check says is shown when it has ended, so that its lines stay together. */
function check(): Promise<number> {
  const run = spawn(process.execPath, ['scripts/check.ts'], { stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [run.stdout, run.stderr])
    stream.on('data', (data) => {
      said += data
    })
  return new Promise((resolve) => {
    run.on('exit', (code) => {
      console.log(`── check: types, lint, format\n${said}`)
      resolve(code ?? 1)
    })
  })
}

function runTests(): Promise<number> {
  const stored = readStoredTimes()
  const seconds = { ...stored.test?.files, ...stored.proof?.files, ...stored[suite]?.files }
  const entries = writeEntries(planProcesses(files, seconds), folder, timesFile)
  console.log(`── ${files.length} test files in ${entries.length} processes`)
  const options = [
    '--test',
    `--test-concurrency=${PROCESSES}`,
    '--test-global-setup=./test/kit/global-setup.ts',
    ...['spec', './scripts/count-tests.ts'].map((name) => `--test-reporter=${name}`),
    ...['stdout', countsFile].map((to) => `--test-reporter-destination=${to}`),
  ]
  const run = spawn(process.execPath, [...options, ...flags, ...entries], {
    stdio: 'inherit',
    env: {
      ...process.env,
      TEST_TIMES: timesFile,
      ...(suite === 'proof' || isChosen ? { TEST_VARIANTS: 'every' } : {}),
    },
  })
  return new Promise((resolve) => run.on('exit', (code) => resolve(code ?? 1)))
}

const codes = await Promise.all([runTests(), ...(suite === 'test' && !isChosen ? [check()] : [])])
const times = readFileSync(timesFile, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ProcessTimes)
const tookCpuSec = cpuSec() - began

if (args.includes('--times') && isWhole) storeTimes()
if (isQuickRun) {
  const left = all.filter((file) => !files.includes(file)).map(({ path }) => path)
  console.log(`\n${left.length} files left out:\n  ${left.join('\n  ')}`)
}
console.log(`\nthe slowest processes, by processor time:`)
for (const line of slowest(times, SLOWEST)) console.log(line)
const minutes = (sec: number) => `${(sec / 60).toFixed(1)} min`
console.log(
  `${minutes((Date.now() - startedAt) / 1000)}, ${minutes(tookCpuSec)} of processor time in ${times.length} processes`,
)
if (existsSync(countsFile)) {
  const { tests, passed, failed } = JSON.parse(readFileSync(countsFile, 'utf8'))
  console.log(`${tests} tests: ${passed} passed, ${failed} failed`)
}
rmSync(folder, { recursive: true })
process.exitCode = codes.find((code) => code !== 0) ?? 0

function storeTimes(): void {
  const [{ model } = { model: 'unknown' }] = cpus()
  const machine = `${availableParallelism()} cores, ${model}, Node ${process.versions.node}`
  const rounded = times
    .flatMap((one) => Object.entries(one.files))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, sec]) => [path, Math.round(sec * 10) / 10])
  const mine = {
    machine,
    date: new Date().toISOString().slice(0, 10),
    processes: times.length,
    cpuSec: Math.round(tookCpuSec),
    files: Object.fromEntries(rounded),
  }
  writeFileSync(TIMES_FILE, `${JSON.stringify({ ...readStoredTimes(), [suite]: mine }, null, 2)}\n`)
}
