// A validator of another language judges runbooks by our JSON Schema: every example, and everything that our own tests call right or wrong.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { parseDocument } from 'yaml'
import type { Json } from '../../../src/base/text/json.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { CASES } from '../../domain/runbook/cases.ts'
import { VALID } from '../../domain/runbook/valid-runbook.ts'
import { ROOT } from '../../kit/processes.ts'
import { ask, pythonWith } from './program.ts'

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

interface Judged {
  readonly version: string
  /** Null: valid. */
  readonly faults: readonly (string | null)[]
}

/** What a schema can say of a single value; the others need the whole file, the sources or the workers. */
const SHAPE =
  `BAD_OFFSET BAD_PERCENT BAD_NUMBER UNKNOWN_KEY EMPTY_VALUE EMPTY_LIST WRONG_TYPE UNKNOWN_VALUE BAD_NAME BAD_WORKER_ID
  BAD_VARIABLE BAD_CONNECTION BAD_CLOCK_TIME`.split(/\s+/)

interface Source {
  /** The problem that it shows; null for one that is right. */
  readonly code: string | null
  readonly source: string
}

const sourcesOfCases = (): Source[] =>
  CASES.map(({ code, edit }) => {
    const text = typeof edit === 'string' ? edit : VALID.replace(edit[0], () => edit[1])
    return { code, source: text.replace('«', '').replace('»', '') }
  })

/** Without those that are no YAML: there is nothing to judge by a schema. */
const readable = (sources: readonly Source[]): (Source & { readonly document: Json })[] =>
  sources.flatMap((one) => {
    const parsed = parseDocument(one.source, { logLevel: 'silent' })
    return parsed.errors.length > 0 ? [] : [{ ...one, document: parsed.toJS() as Json }]
  })

describe('the JSON Schema of runbooks', { timeout: 60_000 }, () => {
  it('means the same to a validator of another language: it refuses faults of single values, and nothing that the program accepts', async (test) => {
    const python = await pythonWith('jsonschema')
    if (python === null) return test.skip('left out: no Python has jsonschema')
    const examples = globSync('examples/*.yaml', { cwd: ROOT }).map(read)
    const documents = readable([
      ...[VALID, ...examples].map((source) => ({ code: null, source })),
      ...sourcesOfCases(),
    ])
    const schema = JSON.parse(read('docs/runbook.schema.json')) as Json
    const script = join(import.meta.dirname, 'schema.py')
    const asked = { schema, documents: documents.map(({ document }) => document) }
    const { version, faults } = JSON.parse(
      await ask(python, [script], JSON.stringify(asked)),
    ) as Judged
    const refused = faults.filter((fault) => fault !== null).length
    test.diagnostic(`jsonschema ${version}: ${faults.length} documents, ${refused} refused`)
    const tooStrict = documents.flatMap(({ source }, n) =>
      faults[n] !== null && readRunbook(source, { allowMissingParameters: true }).runbook !== null
        ? [{ fault: faults[n], source }]
        : [],
    )
    assert.deepEqual(tooStrict, [])
    const missed = documents.filter(
      ({ code }, n) => SHAPE.includes(code ?? '') && faults[n] === null,
    )
    assert.deepEqual(missed, [])
    assert.ok(refused > 50 && faults.length - refused > examples.length, `${refused} refused`)
  })
})
