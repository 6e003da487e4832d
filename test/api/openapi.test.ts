// The OpenAPI document as others read it: a linter and a generator that know nothing of this program. They found what our own tests
// cannot: a reference to the whole document where any JSON value was meant.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { generateSource } from 'oazapfts'

const root = join(import.meta.dirname, '..', '..')
const file = join(root, 'docs', 'openapi.json')

interface Parameter {
  readonly name: string
  readonly schema: { readonly type?: string; readonly default?: unknown }
}
const document = JSON.parse(readFileSync(file, 'utf8')) as {
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Record<string, Record<string, { readonly parameters?: readonly Parameter[] }>>
}

describe('docs/openapi.json', () => {
  it('passes the strict rules of an independent linter', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] })
    const source = readFileSync(file, 'utf8')
    const problems = await lintFromString({ source, absoluteRef: file, config })
    assert.deepEqual(
      problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
      [],
    )
  })

  it('gives a client that type-checks', async () => {
    const client = await generateSource(file)
    assert.match(client, /export function listBatches\(/)
    // Below node_modules, where the client finds its runtime, and away from our own tsconfig.json.
    const cache = join(root, 'node_modules', '.cache')
    mkdirSync(cache, { recursive: true })
    const folder = mkdtempSync(join(cache, 'matoolkit-client-'))
    try {
      writeFileSync(join(folder, 'client.ts'), client)
      writeFileSync(join(folder, 'use.ts'), USE)
      const flags = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'esnext']
      const libraries = ['--module', 'nodenext', '--lib', 'esnext,dom']
      const all = [
        ...flags,
        ...libraries,
        '--allowImportingTsExtensions',
        '--ignoreConfig',
        'use.ts',
      ]
      const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
      execFileSync(process.execPath, [tsc, ...all], { cwd: folder, encoding: 'utf8' })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('declares numbers as numbers, with numbers as defaults', () => {
    const parameters = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap((operation) => operation.parameters ?? []),
    )
    const numeric = parameters.filter(({ name }) =>
      /^(limit|after|version|sealed|batchId|memberId|stepId)$/.test(name),
    )
    assert.ok(numeric.length > 20)
    assert.deepEqual(
      numeric.filter(({ schema }) => schema.type !== 'integer').map(({ name }) => name),
      [],
    )
    const limits = parameters.filter(({ name }) => name === 'limit')
    assert.ok(limits.every(({ schema }) => schema.default === 100))
    assert.deepEqual(
      document.servers.map(({ url }) => url),
      ['/'],
    )
  })
})

/** What a caller may write: numbers for numbers, lists for lists; texts are refused. */
const USE = `import { listBatches, listSteps } from './client.ts'
await listBatches({ limit: 5, status: ['active', 'failed'] })
await listSteps(12, { memberId: 3 })
type Limit = NonNullable<Parameters<typeof listBatches>[0]>['limit']
export const isNoText: string extends Limit ? never : true = true
`
