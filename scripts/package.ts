// `npm run package`: the folder that npm publishes, and its tarball. Node runs no TypeScript under node_modules, so the types are
// replaced by blanks: every line stays where it is, and a stack trace fits the sources.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { manifestOf, type PackageManifest, withoutTypes } from './package-contents.ts'

const USAGE = `npm run package -- [options]
  --to dist     where to put package/ and its tarball (dist)`

/** Copied as they are, besides the program. */
const COPIED = ['bin', 'sql', 'examples', 'README.md', 'CHANGELOG.md', 'LICENSE']
/** In the published package the program is here; bin/matoolkit looks for it. */
const PROGRAM = 'lib'

const root = join(import.meta.dirname, '..')
const { values } = parseArgs({
  options: { to: { type: 'string', default: 'dist' }, help: { type: 'boolean', default: false } },
})
if (values.help) {
  console.log(USAGE)
  process.exit(0)
}
const destination = resolve(values.to)
/** What `npm publish` is given. */
const to = join(destination, 'package')

function assemble(): void {
  rmSync(destination, { recursive: true, force: true })
  for (const file of globSync('**/*', { cwd: join(root, 'src') })) {
    const from = join(root, 'src', file)
    if (!statSync(from).isFile()) continue
    const target = join(to, PROGRAM, file)
    mkdirSync(dirname(target), { recursive: true })
    if (!file.endsWith('.ts')) cpSync(from, target)
    else
      writeFileSync(
        target.replace(/\.ts$/, '.js'),
        withoutTypes(readFileSync(from, 'utf8'), stripTypeScriptTypes),
      )
  }
  for (const name of COPIED) cpSync(join(root, name), join(to, name), { recursive: true })
  chmodSync(join(to, 'bin', 'matoolkit'), 0o755)
  const manifest = manifestOf(
    JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageManifest,
  )
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

assemble()
const npm = spawnSync('npm', ['pack', to, '--pack-destination', destination, '--loglevel=error'], {
  encoding: 'utf8',
  shell: process.platform === 'win32',
  stdio: ['ignore', 'pipe', 'inherit'],
})
if (npm.status !== 0) process.exit(1)
console.log(join(destination, npm.stdout.trim()))
