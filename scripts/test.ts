// `npm test`: types, lint and format first (seconds), then every test. `npm test -- test/bus` runs a part.
import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'

const asked = process.argv.slice(2).filter((arg) => !arg.startsWith('--'))
const flags = process.argv.slice(2).filter((arg) => arg.startsWith('--'))
const files = globSync('test/**/*.test.ts')
  .filter((file) => asked.length === 0 || asked.some((part) => file.includes(part)))
  .sort()
if (files.length === 0) {
  console.error(`npm test: no test file matches ${asked.join(', ')}`)
  process.exit(2)
}

function run(title: string, args: string[]): void {
  console.log(`\n── ${title}`)
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

if (asked.length === 0) run('check: types, lint, format', ['scripts/check.ts'])
run(`tests: ${files.length} files`, [
  '--test',
  '--test-concurrency=2',
  '--test-global-setup=./test/global-setup.ts',
  ...flags,
  ...files,
])
