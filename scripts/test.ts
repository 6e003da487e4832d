// `npm test`: types, lint and format first (seconds), then every test. USAGE has the other ways to call it.
import { spawnSync } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  isQuick,
  type ProcessTimes,
  planProcesses,
  renderTimes,
  writeEntries,
} from './test-plan.ts'

const USAGE = `npm test                       check types, lint and format, then run every test
npm test -- quick              run the inner loop, a minute: the check, tidy rules, domain, fast unit
                               tests, some stories and seeds; no chaos, no demonstration, no processes
npm test -- test/bus races     run the test files whose path contains one of the words
npm test -- --times test/bus   also print the processor time of each process (Linux)
npm test -- --test-name-pattern=hold test/stories
                               pass options to "node --test"`

/** A sweep as small as this needs 10 s. */
const QUICK_SEEDS = 4
/** One more than there are cores: tests of processes wait for most of their time. Two more gained nothing. */
const PROCESSES = availableParallelism() + 1

const args = process.argv.slice(2)
if (args.includes('--help')) {
  console.log(USAGE)
  process.exit(0)
}
const flags = args.filter((arg) => arg.startsWith('--') && arg !== '--times')
const words = args.filter((arg) => !arg.startsWith('--'))
const isQuickRun = words.length === 1 && words[0] === 'quick'
const all = globSync('test/**/*.test.ts')
  .map((file) => file.replaceAll('\\', '/'))
  .sort()
  .map((path) => ({ path, text: readFileSync(path, 'utf8') }))
const files = all.filter((file) => {
  if (isQuickRun) return isQuick(file)
  return words.length === 0 || words.some((word) => file.path.includes(word))
})
if (files.length === 0) {
  console.error(`npm test: no test file matches "${words.join(' ')}". Try: npm test -- --help`)
  process.exit(2)
}

function run(title: string, command: string[], env: Record<string, string> = {}): void {
  console.log(`\n── ${title}`)
  const { status } = spawnSync(process.execPath, command, {
    stdio: 'inherit',
    env: { ...process.env, ...env },
  })
  if (status !== 0) process.exitCode = status ?? 1
}

const readTimes = (file: string): ProcessTimes[] =>
  readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ProcessTimes)

if (words.length === 0 || isQuickRun) run('check: types, lint, format', ['scripts/check.ts'])
if (!process.exitCode) {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-tests-'))
  try {
    const timesFile = args.includes('--times') ? join(folder, 'times') : null
    const entries = writeEntries(planProcesses(files), process.cwd(), folder, timesFile)
    const options = [
      '--test',
      `--test-concurrency=${PROCESSES}`,
      '--test-global-setup=./test/kit/global-setup.ts',
      ...flags,
    ]
    run(
      `tests: ${files.length} files in ${entries.length} processes`,
      [...options, ...entries],
      isQuickRun ? { TEST_SEEDS: String(QUICK_SEEDS) } : {},
    )
    if (timesFile) console.log(renderTimes(readTimes(timesFile)))
  } finally {
    rmSync(folder, { recursive: true })
  }
}
if (isQuickRun) {
  const left = all.filter((file) => !files.includes(file)).map(({ path }) => path)
  console.log(`\n${left.length} files left out (run everything: npm test):\n  ${left.join('\n  ')}`)
}
