// `npm run check`: types, lint and format, at the same time. `npm run check -- --fix` corrects what can be corrected.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

const isFixing = process.argv.includes('--fix')
/**
 * Each thread of the compiler works out the same types again. On few cores that costs more than it gains: four threads took 22 s of
 * processor time, one took 14.
 */
const CHECKERS = ['--checkers', availableParallelism() < 8 ? '1' : '4']
const commands: [string, string[]][] = [
  ['tsc', ['-p', 'tsconfig.json', ...CHECKERS]],
  ['tsc', ['-p', 'dashboard/tsconfig.json', ...CHECKERS]],
  ['biome', ['check', '--error-on-warnings', ...(isFixing ? ['--write'] : []), '.']],
]

function runTool(name: string, args: string[]): Promise<boolean> {
  return new Promise((resolve) => {
    const tool = spawn(join('node_modules', '.bin', name), args, {
      stdio: 'inherit',
      shell: process.platform === 'win32',
    })
    tool.on('error', (error) => {
      console.error(error.message)
      resolve(false)
    })
    tool.on('exit', (code) => resolve(code === 0))
  })
}

const passed = await Promise.all(commands.map(([name, args]) => runTool(name, args)))
process.exit(passed.every(Boolean) ? 0 : 1)
