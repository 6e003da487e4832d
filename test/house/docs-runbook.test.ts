// The reference, the schema and the examples match the program.

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parse } from 'yaml'
import { z } from 'zod'
import { expectedText } from '../../scripts/docs.ts'
import { RUNBOOK_DOCUMENTS } from '../../scripts/docs-runbook.ts'
import { readRunbook } from '../../src/domain/runbook/read.ts'
import { runbookSchema } from '../../src/domain/runbook/schema.ts'
import { M365_CATALOGUE } from '../../src/m365/catalogue.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const examples = globSync('examples/*.yaml', { cwd: root }).sort()

describe('generated documents about runbooks', () => {
  for (const document of RUNBOOK_DOCUMENTS) {
    it(`${document.file}, ${document.section ?? 'whole'}`, () => {
      const text = read(document.file)
      const hint = 'run: npm run docs'
      assert.ok(text === expectedText(document, text), hint)
    })
  }
})

describe('examples', () => {
  it('are found', () => assert.equal(examples.length, 5))

  for (const file of examples) {
    it(`${file} is valid without a warning`, () => {
      const { problems } = readRunbook(read(file), { catalogues: [M365_CATALOGUE], isLinted: true })
      assert.deepEqual(problems, [])
    })

    it(`${file} points at the schema`, () => {
      const [first] = read(file).split('\n')
      assert.equal(first, '# yaml-language-server: $schema=../docs/runbook.schema.json')
    })
  }

  it('full-migration.csv fits its runbook', () => {
    const csv = read('examples/full-migration.csv')
    const [header = '', ...rows] = csv.trimEnd().split('\n')
    const { runbook, problems } = readRunbook(read('examples/full-migration.yaml'), {
      columns: header.split(','),
    })
    assert.deepEqual(problems, [])
    assert.deepEqual(runbook?.dataSource.columns, header.split(','))
    assert.equal(rows.length, 200)
    assert.equal(new Set(rows.map((row) => row.split(',')[0])).size, 200)
    assert.ok(csv.length < 60_000)
  })
})

describe('the reference', () => {
  const blocks = [...read('docs/runbook.md').matchAll(/```yaml\n([\s\S]*?)```/g)].map(
    ([, yaml]) => yaml!,
  )

  it('has examples', () => assert.ok(blocks.length >= 2))

  for (const [index, yaml] of blocks.entries()) {
    it(`example ${index + 1} is valid without a warning`, () => {
      assert.deepEqual(readRunbook(yaml).problems, [])
    })
  }
})

describe('the JSON Schema', () => {
  const schema = z.fromJSONSchema(
    runbookSchema(M365_CATALOGUE.functions) as Parameters<typeof z.fromJSONSchema>[0],
  )

  for (const file of examples) {
    it(`accepts ${file}`, () => {
      const { success, error } = schema.safeParse(parse(read(file)))
      assert.ok(success, String(error))
    })
  }

  // For single values the schema agrees with the reader.
  const REFUSED: [from: string, to: string][] = [
    ['name: sample-migration', 'name: two words'],
    ['offset: T-5d', 'offset: T-5'],
    ['interval: 30s', 'interval: 30'],
    ['max_retries: 2', 'max_retries: -1'],
    ['type: csv', 'type: excel'],
    ['worker_id: demo-worker', 'worker_id: "{{x}}"'],
    ['phases:', 'phasen:'],
    ['rollbacks:', 'rollbacks: []\nx-rest:'],
    ['function: Send-Notification', 'x-function: Send-Notification'],
  ]
  for (const [from, to] of REFUSED) {
    it(`refuses ${JSON.stringify(to)} like the reader`, () => {
      const changed = read('test/fixtures/sample-migration.yaml').replace(from, to)
      assert.equal(readRunbook(changed).runbook, null)
      assert.equal(schema.safeParse(parse(changed)).success, false)
    })
  }

  it('allows keys that start with x- like the reader', () => {
    const changed = `${read('test/fixtures/sample-migration.yaml')}\nx-owner: {any: [thing]}\n`
    assert.ok(readRunbook(changed).runbook)
    assert.ok(schema.safeParse(parse(changed)).success)
  })
})

describe('the schema', () => {
  it('has an address of its own and the draft that editors read', () => {
    const schema = JSON.parse(read('docs/runbook.schema.json')) as Record<string, unknown>
    assert.match(String(schema.$id), /^https:\/\/www\.schemastore\.org\/[a-z-]+\.json$/)
    assert.match(String(schema.$schema), /draft-07/)
  })

  it('is set up in VS Code as the reference says', () => {
    const [, json] = /```json\n([\s\S]*?)```/.exec(read('docs/runbook.md'))!
    const settings = JSON.parse(json!) as { 'yaml.schemas': Record<string, string[]> }
    // No pattern may catch files of others.
    const patterns = ['*.runbook.yaml', '*.runbook.yml']
    assert.deepEqual(Object.values(settings['yaml.schemas']), [patterns])
  })
})
