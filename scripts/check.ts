// `npm run check`: types, lint and format. `npm run check -- --fix` mends what can be mended.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const fix = process.argv.includes('--fix')
const bin = (name: string) => join('node_modules', '.bin', name)
const commands: [string, string[]][] = [
  [bin('tsc'), ['-p', 'tsconfig.json']],
  [bin('biome'), ['check', '--error-on-warnings', ...(fix ? ['--write'] : []), '.']],
]
let failed = false
for (const [command, args] of commands) {
  const { status, error } = spawnSync(command, args, {
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })
  if (error) console.error(error.message)
  failed ||= status !== 0
}
process.exit(failed ? 1 : 0)
