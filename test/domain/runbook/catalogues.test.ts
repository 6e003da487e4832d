// When functions and parameters get no warning, and tolerance of broken announcements.

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type FunctionCatalogue, readRunbook } from '../../../src/domain/runbook/read.ts'
import { M365_CATALOGUE } from '../../../src/m365/catalogue.ts'
import { VALID } from './valid-runbook.ts'

const closed = (...names: string[]) => ({
  properties: Object.fromEntries(names.map((name) => [name, {}])),
  additionalProperties: false,
})
const worker = (
  workerId: string,
  functions: Record<string, unknown> | null,
): FunctionCatalogue => ({
  workerId,
  functions:
    functions && Object.entries(functions).map(([name, parameters]) => ({ name, parameters })),
})

const STANDARD = VALID.replace('function: Do-It', 'function: New-EntraUser')

const warnings = (catalogues: readonly FunctionCatalogue[], source = VALID) =>
  readRunbook(source, { catalogues }).problems.map(({ code }) => code)

describe('catalogues of workers', () => {
  const SILENT: [why: string, catalogues: FunctionCatalogue[]][] = [
    ['the worker does not tell', [worker('worker-1', null), worker('other', { Other: {} })]],
    ['the worker has it, in any case', [worker('WORKER-1', { 'do-it': closed('a') })]],
    ['an unknown worker may be like the known ones', [worker('other', { 'Do-It': closed('A') })]],
    ['the function takes anything', [worker('worker-1', { 'Do-It': { properties: {} } })]],
    [
      'one of several has these parameters',
      [worker('a', { 'Do-It': closed('B') }), worker('b', { 'Do-It': closed('A') })],
    ],
    ['the schema is none', [worker('worker-1', { 'Do-It': 'junk' })]],
    ['the schema is half junk', [worker('worker-1', { 'Do-It': { properties: 5 } })]],
  ]
  for (const [why, catalogues] of SILENT) {
    it(`gives no warning when ${why}`, () => {
      assert.deepEqual(warnings(catalogues), [])
    })
  }

  it('does not check a function from a template', () => {
    const source = VALID.replace('function: Do-It', 'function: "{{Name}}"')
    assert.deepEqual(warnings([worker('worker-1', {})], source), [])
  })

  it('knows what the program brings along without any worker', () => {
    assert.deepEqual(warnings([M365_CATALOGUE]), ['UNKNOWN_FUNCTION'])
    assert.deepEqual(warnings([M365_CATALOGUE], STANDARD), [
      'MISSING_PARAMETER',
      'MISSING_PARAMETER',
      'MISSING_PARAMETER',
      'UNKNOWN_PARAMETER',
    ])
    const near = readRunbook(VALID.replace('Do-It', 'New-EntraUsr'), {
      catalogues: [M365_CATALOGUE],
    })
    assert.match(near.problems[0]!.message, /Did you mean "New-EntraUser"\?$/)
  })

  it('checks no functions of a text that is already published', () => {
    assert.deepEqual(readRunbook(STANDARD).problems, [])
  })

  it('refuses a missing parameter, or warns of it where that is allowed', () => {
    assert.equal(readRunbook(STANDARD, { catalogues: [M365_CATALOGUE] }).runbook, null)
    const forced = readRunbook(STANDARD, {
      catalogues: [M365_CATALOGUE],
      allowMissingParameters: true,
    })
    assert.ok(forced.runbook)
    assert.ok(forced.problems.some(({ code }) => code === 'MISSING_PARAMETER_ALLOWED'))
  })

  it('a warning leaves the runbook usable', () => {
    const { runbook, problems } = readRunbook(VALID, { catalogues: [worker('worker-1', {})] })
    assert.ok(runbook)
    assert.deepEqual(
      problems.map(({ code, severity }) => [code, severity]),
      [['UNKNOWN_FUNCTION', 'warning']],
    )
  })
})
