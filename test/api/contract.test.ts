// Every endpoint has a contract: one file in contract/ calls it over real HTTP and sees each status and error that it declares.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { ROUTES } from './under-test.ts'

const COVERS = /^covers\(([^)]*)\)/m

const files = globSync('contract/*.test.ts', { cwd: import.meta.dirname }).map((file) => {
  const [, names = ''] = COVERS.exec(readFileSync(join(import.meta.dirname, file), 'utf8')) ?? []
  return { file, operations: [...names.matchAll(/'(\w+)'/g)].map(([, name]) => name!) }
})

it('every endpoint is covered by exactly one contract file', () => {
  const wrong = ROUTES.flatMap(({ operation }) => {
    const found = files.filter(({ operations }) => operations.includes(operation))
    if (found.length === 1) return []
    const where = found.map(({ file }) => file).join(' and ') || 'no file'
    return [`${operation} is in covers(…) of ${where}: name it in one of test/api/contract/`]
  })
  assert.deepEqual(wrong, [])
})

it('a contract file names only endpoints that there are', () => {
  const known = new Set(ROUTES.map(({ operation }) => operation))
  const unknown = files.flatMap(({ operations }) => operations.filter((name) => !known.has(name)))
  assert.deepEqual(unknown, [])
})
