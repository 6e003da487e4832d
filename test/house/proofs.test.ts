// The tables of proofs in the documents name tests and chaos modes that exist.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { chaosMode } from '../proof/chaos/modes.ts'

const root = join(import.meta.dirname, '../..')
const TABLES: readonly [file: string, heading: string][] = [
  ['docs/security.md', '## Which test proves it'],
  ['docs/reliability.md', '## What holds'],
]

/** The rows of the first table after a heading, without its head. */
function rowsAfter(text: string, heading: string): string[] {
  const [, after = ''] = text.split(`${heading}\n`)
  const [section = ''] = after.split(/^## /m)
  return section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(2)
}

/** What a row names and what is not there. */
function missingIn(row: string): string[] {
  const tests = [...row.matchAll(/`(test\/[^`]+)`: "([^"]+)"/g)].map(([, file, title]) => {
    const path = join(root, file!)
    const isThere = existsSync(path) && readFileSync(path, 'utf8').includes(title!)
    return isThere ? null : `${file} has no test "${title}"`
  })
  const modes = [...row.matchAll(/`--mode ([\w-]+)`/g)].map(([, name]) =>
    chaosMode(name!) ? null : `there is no chaos mode ${name}`,
  )
  const found = [...tests, ...modes]
  if (found.length === 0) return [`no proof: ${row}`]
  return found.filter((one) => one !== null)
}

describe('a table of proofs', () => {
  for (const [file, heading] of TABLES) {
    it(`in ${file} names only what exists`, () => {
      const rows = rowsAfter(readFileSync(join(root, file), 'utf8'), heading)
      assert.ok(rows.length > 10, `${rows.length} rows`)
      assert.deepEqual(rows.flatMap(missingIn), [])
    })
  }

  it('is read row by row: a title or a mode that is not there is noticed', () => {
    assert.deepEqual(missingIn('| a | `test/kit/databases.ts`: "nobody wrote it" |'), [
      'test/kit/databases.ts has no test "nobody wrote it"',
    ])
    assert.deepEqual(missingIn('| a | `--mode no-such` |'), ['there is no chaos mode no-such'])
    assert.deepEqual(missingIn('| a | b |'), ['no proof: | a | b |'])
  })
})
