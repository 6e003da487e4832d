// The types of the published client are written out from the OpenAPI document; the compiler compares them with those of the routes.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { clientTable } from '../../../scripts/client-table.ts'
import { ROOT } from '../../kit/processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-table-'))
after(() => rmSync(folder, { recursive: true }))

const USE = `import type { ApiCode, Endpoints } from './table.ts'
import type { Differences } from '${join(ROOT, 'test/proof/delivery/same-table.ts')}'
export const same = (found: Differences<Endpoints, ApiCode>): never => found
`

const CONFIG = {
  extends: join(ROOT, 'tsconfig.json'),
  compilerOptions: { typeRoots: [join(ROOT, 'node_modules/@types')] },
  include: ['use.ts'],
}

/** What the compiler says of the table, without the place. */
function compared(table: string): string {
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(CONFIG))
  writeFileSync(join(folder, 'table.ts'), table)
  writeFileSync(join(folder, 'use.ts'), USE)
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
  const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder], { encoding: 'utf8' })
  return stdout.replaceAll(/^.*: error /gm, '').trim()
}

describe('the table of endpoints of the published client', () => {
  const table = clientTable()

  it('gives and takes what the routes do', () => {
    assert.equal(compared(table), '')
  })

  it('is refused with the name of an endpoint whose answer differs', () => {
    const answer = /('GET \/api\/status': \{\n.*\n.*\n\s*readonly answer: )/
    assert.match(table, answer)
    const said = compared(table.replace(answer, '$1string & '))
    assert.match(said, /\["answer", "GET \/api\/status"\]/)
  })
})
