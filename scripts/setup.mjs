// Set-up that works on any Node from 20 up, before anything is installed: plain JavaScript, Node's own modules only.
// Three jobs: fetch the Node that runs the program where this one is too old, install the locked dependencies once per lock file, and
// build the dashboard when its sources have changed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { refusalOf, runsOn } from '../bin/node-version.mjs'

export const root = fileURLToPath(new URL('..', import.meta.url))
/** Compiled code, in every process the same: halves the time until a program has loaded. */
export const compileCache = join(root, 'node_modules', '.cache', 'node')
const stampOf = (folder) => join(folder, 'node_modules', '.matoolkit-installed')
const stampIn = (folder) =>
  existsSync(stampOf(folder)) ? readFileSync(stampOf(folder), 'utf8') : ''

const lockHash = (folder = root) =>
  createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex')

/** What runs people's migrations gets no development packages and no install scripts: none of its packages needs one. */
const RUNTIME_ONLY = ['--omit=dev', '--ignore-scripts']

/** Installs the locked dependencies unless this very lock file is installed already. */
export function install({ withDevelopment }) {
  const all = lockHash()
  const wanted = withDevelopment ? all : `${all} runtime`
  if ([all, wanted].includes(stampIn(root))) return
  const only = withDevelopment ? [] : RUNTIME_ONLY
  installIn(root, { what: 'dependencies (once, about a minute)', wanted, only, node: runtime() })
}

function installIn(folder, { what, wanted, only, node }) {
  console.error(`matoolkit: installing ${what} …`)
  // The stamp goes first and comes last: an install that is cut off is simply done again.
  rmSync(stampOf(folder), { force: true })
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const result = spawnSync(npm, ['ci', ...only, '--no-fund', '--no-audit', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
    // npm itself runs on this Node, so it leaves out no optional package that an older one could not load.
    env: { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ''}` },
  })
  if (result.status !== 0) {
    console.error(
      'matoolkit: "npm ci" failed; its own message is above. Run the command again once that is fixed.',
    )
    process.exit(1)
  }
  writeFileSync(stampOf(folder), wanted)
}

/** Its lock names one Node for each system that npm has one for; npm checks the hash. */
const nodeFolder = join(root, 'scripts', 'node')

/** The path of a Node that runs the program: this one if it is new enough, else one that npm installs here, once. */
export function runtime() {
  if (runsOn(process.versions.node)) return process.execPath
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const binary = process.platform === 'win32' ? 'node.exe' : 'node'
  const path = join(nodeFolder, 'node_modules', `node-${platform}-${process.arch}`, 'bin', binary)
  const wanted = lockHash(nodeFolder)
  if (stampIn(nodeFolder) !== wanted) {
    const what = `Node 24, as this is ${process.version} (once, 186 MB)`
    installIn(nodeFolder, { what, wanted, only: ['--ignore-scripts'], node: process.execPath })
  }
  if (existsSync(path)) return path
  const system = `${process.platform}-${process.arch}`
  console.error(refusalOf(process.version, `, and npm has no Node 24 for ${system}`))
  process.exit(1)
}

const dashboard = join(root, 'dashboard')
const built = join(dashboard, 'dist', '.built-from')

/** Its own files, what of the program runs in the browser, and the packages. */
function dashboardHash() {
  const hash = createHash('sha256').update(lockHash())
  const folders = [
    dashboard,
    join(root, 'src', 'domain'),
    join(root, 'src', 'base', 'text'),
    join(root, 'src', 'api', 'client'),
  ]
  for (const folder of folders) {
    const names = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      .filter((path) => !path.startsWith(join(dashboard, 'dist')))
    for (const path of names.sort()) hash.update(path.slice(root.length)).update(readFileSync(path))
  }
  return hash.digest('hex')
}

/** A published package has no sources, only what was built from them. */
export const isDashboardBuilt = () =>
  !existsSync(join(dashboard, 'src')) ||
  (existsSync(built) && readFileSync(built, 'utf8') === dashboardHash())

/** Builds it unless it is built from these very sources. Needs the packages for development. */
export function buildDashboard() {
  if (isDashboardBuilt()) return
  console.error('matoolkit: building the dashboard …')
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  const result = spawnSync(
    runtime(),
    [vite, 'build', dashboard, '--config', join(dashboard, 'vite.config.ts'), '--logLevel', 'warn'],
    { cwd: root, stdio: ['ignore', 2, 2] },
  )
  if (result.status !== 0) {
    console.error('matoolkit: the dashboard cannot be built; the message of Vite is above.')
    process.exit(1)
  }
  writeFileSync(built, dashboardHash())
}
