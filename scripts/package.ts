// `npm run package`: the folders that npm publishes, the program's and its client's, and their tarballs.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { writeClientDeclarations } from './client-declarations.ts'
import { assembleClient, assemblePackage, copyRuntimePackages } from './package-tree.ts'

const USAGE = `npm run package -- [options]
  --to dist     where to put package/, client/ and their tarballs (dist)`

const { values } = parseArgs({
  options: { to: { type: 'string', default: 'dist' }, help: { type: 'boolean', default: false } },
})
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const destination = resolve(values.to)
rmSync(destination, { recursive: true, force: true })
const program = join(destination, 'package')
assemblePackage(program)
copyRuntimePackages(program, 'always')
const client = join(destination, 'client')
assembleClient(client)
// Only here: they take the compiler, which the build of an image does not have.
writeClientDeclarations(join(import.meta.dirname, '..'), client)
for (const folder of [program, client]) {
  const npm = spawnSync(
    'npm',
    ['pack', folder, '--pack-destination', destination, '--loglevel=error'],
    { encoding: 'utf8', shell: process.platform === 'win32', stdio: ['ignore', 'pipe', 'inherit'] },
  )
  if (npm.status !== 0) process.exit(1)
  console.log(join(destination, npm.stdout.trim()))
}
