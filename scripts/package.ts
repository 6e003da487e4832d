// `npm run package`: the folder that npm publishes, and its tarball.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { writeClientDeclarations } from './client-declarations.ts'
import { assemblePackage } from './package-tree.ts'

const USAGE = `npm run package -- [options]
  --to dist     where to put package/ and its tarball (dist)`

const { values } = parseArgs({
  options: { to: { type: 'string', default: 'dist' }, help: { type: 'boolean', default: false } },
})
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const destination = resolve(values.to)
const to = join(destination, 'package')
rmSync(destination, { recursive: true, force: true })
assemblePackage(to)
// Only here: they take the compiler, which the build of an image does not have.
writeClientDeclarations(join(import.meta.dirname, '..'), join(to, 'lib', 'api', 'client'))
const npm = spawnSync('npm', ['pack', to, '--pack-destination', destination, '--loglevel=error'], {
  encoding: 'utf8',
  shell: process.platform === 'win32',
  stdio: ['ignore', 'pipe', 'inherit'],
})
if (npm.status !== 0) process.exit(1)
console.log(join(destination, npm.stdout.trim()))
