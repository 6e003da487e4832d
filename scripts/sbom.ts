// `npm run -s sbom > sbom.cdx.json`: what the program contains, as CycloneDX. npm writes the list of the whole lock; it is cut down here,
// as npm's own `--omit=dev` drops every package that a development package needs too, and knows nothing of the browser's.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import type { LockFile } from './package-contents.ts'

interface Sbom {
  metadata: { component: { name: string; type: string } }
  components: {
    readonly 'bom-ref': string
    scope: 'required' | 'optional'
    properties: readonly { readonly name: string; readonly value: string }[]
  }[]
  dependencies: { readonly ref: string; dependsOn: readonly string[] }[]
}

const root = join(import.meta.dirname, '..')
const readJson = <T>(path: string): T => JSON.parse(readFileSync(join(root, path), 'utf8')) as T

const { packages } = readJson<LockFile>('package-lock.json')
const atRun = Object.entries(packages)
  .filter(([path, { dev }]) => path !== '' && !dev)
  .map(([path, { version }]) => `${path.split('node_modules/').at(-1)}@${version}`)
/** Vite lists them when it builds the dashboard. */
const inBrowser = readJson<{ name: string; version: string }[]>('dashboard/dist/licenses.json').map(
  ({ name, version }) => `${name}@${version}`,
)
const contained = new Set([...atRun, ...inBrowser])

const all = execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'], {
  cwd: root,
  encoding: 'utf8',
  shell: process.platform === 'win32',
  stdio: ['ignore', 'pipe', 'inherit'],
  maxBuffer: 100_000_000,
})
const sbom = JSON.parse(all) as Sbom
// npm takes the name of the folder.
sbom.metadata.component.name = manifest.name
sbom.metadata.component.type = 'application'
sbom.components = sbom.components
  .filter((one) => contained.has(one['bom-ref']))
  .map((one) => ({
    ...one,
    properties: one.properties.filter(({ name }) => name !== 'cdx:npm:package:development'),
    // The browser's are development packages for npm, and so optional.
    scope: inBrowser.includes(one['bom-ref']) ? 'required' : one.scope,
  }))
const listed = new Set(sbom.components.map((one) => one['bom-ref']))
const missing = [...contained].filter((name) => !listed.has(name))
if (missing.length > 0) throw new Error(`npm's list lacks ${missing.join(', ')}`)
const own = `${manifest.name}@${manifest.version}`
sbom.dependencies = sbom.dependencies
  .filter(({ ref }) => ref === own || listed.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((name) => listed.has(name)) }))
console.log(JSON.stringify(sbom, null, 2))
