// The declarations of the published client, made by the compiler from its sources. The table of endpoints is the written one: a consumer
// has no sources of the routes.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { clientTable } from './client-table.ts'

const FLAGS = [
  '--ignoreConfig',
  '--declaration',
  '--emitDeclarationOnly',
  '--strict',
  '--skipLibCheck',
  '--target',
  'es2022',
  '--module',
  'nodenext',
  '--lib',
  'es2022,dom,dom.iterable',
  '--allowImportingTsExtensions',
  '--verbatimModuleSyntax',
]

/** Writes `*.d.ts` next to the JavaScript of the client. */
export function writeClientDeclarations(root: string, to: string): void {
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-client-'))
  try {
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
    cpSync(join(root, 'src', 'api', 'client'), folder, { recursive: true })
    writeFileSync(join(folder, 'table.ts'), clientTable())
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
    execFileSync(process.execPath, [tsc, ...FLAGS, 'client.ts'], { cwd: folder, stdio: 'pipe' })
    for (const file of globSync('*.d.ts', { cwd: folder })) {
      const text = readFileSync(join(folder, file), 'utf8')
      writeFileSync(join(to, file), text.replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"))
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
