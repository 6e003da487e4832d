// What the documents promise is proven by tests and chaos modes that exist.
import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { chaosMode } from '../proof/chaos/modes.ts'
import { ATTACKS, type Proof, SABOTAGES } from './proof-table.ts'

const root = join(import.meta.dirname, '../..')

/** What a proof names and what is not there. */
function missingIn({ what, tests, modes = [] }: Proof): string[] {
  const missingTests = tests.flatMap(([file, title]) => {
    const path = join(root, file)
    const isThere = existsSync(path) && readFileSync(path, 'utf8').includes(title)
    return isThere ? [] : [`${file} has no test "${title}"`]
  })
  const missingModes = modes.flatMap((name) =>
    chaosMode(name) ? [] : [`there is no chaos mode ${name}`],
  )
  const isEmpty = tests.length + modes.length === 0
  return [...missingTests, ...missingModes, ...(isEmpty ? [`no proof: ${what}`] : [])]
}

/** The proofs in a table of a document: `file`: "title". */
function proofsIn(file: string, heading: string): Proof[] {
  const [, after = ''] = readFileSync(join(root, file), 'utf8').split(`${heading}\n`)
  const [section = ''] = after.split(/^## /m)
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  return rows.slice(2).map((row) => ({
    what: row,
    tests: [...row.matchAll(/`(test\/[^`]+)`: "([^"]+)"/g)].map(
      ([, path, title]) => [path!, title!] as const,
    ),
  }))
}

describe('proofs name only what exists', () => {
  it('of what resists an attack', () => assert.deepEqual(ATTACKS.flatMap(missingIn), []))

  it('of what survives a sabotage', () => assert.deepEqual(SABOTAGES.flatMap(missingIn), []))

  it('in docs/reliability.md', () => {
    const proofs = proofsIn('docs/reliability.md', '## What holds')
    assert.ok(proofs.length > 10, `${proofs.length} rows`)
    assert.deepEqual(proofs.flatMap(missingIn), [])
  })

  it('in docs/proofs.md', () => {
    const proofs = proofsIn('docs/proofs.md', '# Judged by others')
    assert.ok(proofs.length > 1, `${proofs.length} rows`)
    assert.deepEqual(proofs.flatMap(missingIn), [])
  })

  it('in docs/proofs.md, with the packages that the programs in C# use', () => {
    const document = readFileSync(join(root, 'docs/proofs.md'), 'utf8')
    const used = globSync('test/proof/dotnet/*.cs', { cwd: root }).flatMap((path) => [
      ...readFileSync(join(root, path), 'utf8').matchAll(/^#:package (\S+)@(\S+)$/gm),
    ])
    assert.ok(used.length > 1)
    for (const [, name, version] of used)
      assert.ok(document.includes(`| ${name} | ${version} |`), `${name} ${version}`)
  })

  it('and a title or a mode that is not there is noticed', () => {
    const what = 'a'
    assert.deepEqual(missingIn({ what, tests: [['test/kit/databases.ts', 'never written']] }), [
      'test/kit/databases.ts has no test "never written"',
    ])
    assert.deepEqual(missingIn({ what, tests: [], modes: ['no-such'] }), [
      'there is no chaos mode no-such',
    ])
    assert.deepEqual(missingIn({ what, tests: [] }), ['no proof: a'])
  })
})
