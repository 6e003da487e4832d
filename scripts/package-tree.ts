// The files of matoolkit as they are installed: the program as JavaScript under lib/ and sandbox/, with everything that it reads. Node runs no
// TypeScript under node_modules, so the types are replaced by blanks: every line stays where it is, and a stack trace fits the sources.
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import {
  clientManifestOf,
  isRead,
  type LockFile,
  manifestOf,
  type Needed,
  type PackageManifest,
  runtimePackages,
  withoutTypes,
} from './package-contents.ts'
import { POWERSHELL_MODULE } from './powershell/module.ts'

/** Copied as they are, besides the program. */
const COPIED = ['bin', 'sql', 'examples', 'dashboard/dist', 'README.md', 'CHANGELOG.md', 'LICENSE']
/** Folders with types, and where they are installed. bin/matoolkit looks for the program in lib/. */
const PROGRAM = { src: 'lib', sandbox: 'sandbox' }

/** Leads nowhere outside the repository. */
const RELATIVE_LINK = /\[([^\]]+)\]\((?!https?:)[^)]*\)/g

const root = join(import.meta.dirname, '..')
const readJson = <T>(name: string): T => JSON.parse(readFileSync(join(root, name), 'utf8')) as T

/** What `npm publish` gets. */
export function assemblePackage(to: string): void {
  for (const [sources, installed] of Object.entries(PROGRAM))
    copyWithoutTypes(join(root, sources), join(to, installed))
  for (const name of COPIED) cpSync(join(root, name), join(to, name), { recursive: true })
  chmodSync(join(to, 'bin', 'matoolkit'), 0o755)
  const cmdlets = join(to, 'powershell', 'Matoolkit')
  mkdirSync(cmdlets, { recursive: true })
  for (const [name, render] of Object.entries(POWERSHELL_MODULE))
    writeFileSync(join(cmdlets, name), render())
  const manifest = manifestOf(readJson<PackageManifest>('package.json'))
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}

function copyWithoutTypes(sources: string, to: string): void {
  for (const file of globSync('**/*', { cwd: sources })) {
    const from = join(sources, file)
    if (!statSync(from).isFile()) continue
    const target = join(to, file)
    mkdirSync(dirname(target), { recursive: true })
    if (!file.endsWith('.ts')) cpSync(from, target)
    else
      writeFileSync(
        target.replace(/\.ts$/, '.js'),
        withoutTypes(readFileSync(from, 'utf8'), stripTypeScriptTypes),
      )
  }
}

/** The installed packages that the program needs, in the locked versions: nothing for development. */
export function copyRuntimePackages(to: string, needed: Needed): void {
  for (const path of runtimePackages(readJson<LockFile>('package-lock.json'), needed)) {
    // An optional package for another platform is not there.
    if (existsSync(join(root, path)))
      cpSync(join(root, path), join(to, path), {
        recursive: true,
        dereference: true,
        filter: isRead,
      })
  }
}

/** The section about the client, as a page of its own. */
function clientGuideIn(page: string): string {
  const [, section] = /\n## From TypeScript\n([\s\S]*?)\n## /.exec(page)!
  return `# matoolkit-client\n${section!.replaceAll(RELATIVE_LINK, '$1')}`
}

/** The client as a package of its own; its types come from client-declarations.ts. */
export function assembleClient(to: string): void {
  copyWithoutTypes(join(root, 'src', 'api', 'client'), to)
  cpSync(join(root, 'LICENSE'), join(to, 'LICENSE'))
  const page = readFileSync(join(root, 'docs', 'api.md'), 'utf8')
  writeFileSync(join(to, 'README.md'), clientGuideIn(page))
  const manifest = clientManifestOf(readJson<PackageManifest>('package.json'))
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`)
}
