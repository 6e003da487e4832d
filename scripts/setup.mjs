// Set-up that works on any Node from 20 up, before anything is installed: plain JavaScript, Node's own modules only.
// Three jobs: install the locked dependencies once per lock file, name the Node that can run TypeScript as it is, and build the
// dashboard when its sources have changed.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))
const MIN_NODE_MAJOR = 24
const stamp = join(root, 'node_modules', '.matoolkit-installed')

const lockHash = () =>
  createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex')

/** What runs people's migrations gets no development packages and no install scripts: none of its packages needs one. */
const RUNTIME_ONLY = ['--omit=dev', '--ignore-scripts']

/** Installs the locked dependencies unless this very lock file is installed already. */
export function install({ withDevelopment }) {
  const all = lockHash()
  const wanted = withDevelopment ? all : `${all} runtime`
  const installed = existsSync(stamp) ? readFileSync(stamp, 'utf8') : ''
  if (installed === all || installed === wanted) return
  console.error('matoolkit: installing dependencies (once, about a minute) …')
  // The stamp goes first and comes last: an install that is cut off is simply done again.
  rmSync(stamp, { force: true })
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm'
  const only = withDevelopment ? [] : RUNTIME_ONLY
  const result = spawnSync(npm, ['ci', ...only, '--no-fund', '--no-audit', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
    shell: process.platform === 'win32',
  })
  if (result.status !== 0) {
    console.error(
      'matoolkit: "npm ci" failed; its own message is above. Run the command again once that is fixed.',
    )
    process.exit(1)
  }
  writeFileSync(stamp, wanted)
}

/** The path of a Node that runs .ts files as they are: this one if it is new enough, else the one npm installed. */
export function runtime() {
  if (Number(process.versions.node.split('.')[0]) >= MIN_NODE_MAJOR) return process.execPath
  const platform = process.platform === 'win32' ? 'win' : process.platform
  const binary = process.platform === 'win32' ? 'node.exe' : 'node'
  const path = join(root, 'node_modules', `node-${platform}-${process.arch}`, 'bin', binary)
  if (existsSync(path)) return path
  console.error(
    `matoolkit: needs Node ${MIN_NODE_MAJOR} to run; this is ${process.version} and npm has no Node ${MIN_NODE_MAJOR} for ` +
      `${process.platform}-${process.arch}. Install Node ${MIN_NODE_MAJOR} or newer and run the command again.`,
  )
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
