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
      'UNKNOWN_PARAMETER',
    ])
    const near = readRunbook(VALID.replace('Do-It', 'New-EntraUsr'), {
      catalogues: [M365_CATALOGUE],
    })
    assert.match(near.problems[0]!.message, /Did you mean "New-EntraUser"\?$/)
  })

  const taking = (field: string) =>
    VALID.replace('params: {A', `output_params: {B: ${field}}\n        params: {A`)
  const returning = (returns?: string[]): FunctionCatalogue => ({
    workerId: 'worker-1',
    functions: [
      {
        name: 'Do-It',
        parameters: closed('A'),
        facts: {
          effect: 'changes',
          isIdempotent: true,
          undoneBy: [],
          ...(returns && { returns }),
        },
      },
    ],
  })

  it('refuses an output that the function never returns, and takes one in any case', () => {
    assert.deepEqual(warnings([returning(['Id'])], taking('UserId')), ['UNKNOWN_OUTPUT'])
    assert.deepEqual(warnings([returning([])], taking('Id')), ['UNKNOWN_OUTPUT'])
    assert.equal(readRunbook(taking('UserId'), { catalogues: [returning(['Id'])] }).runbook, null)
    assert.deepEqual(warnings([returning(['Id'])], taking('ID')), [])
  })

  it('does not judge outputs where the function may return anything', () => {
    assert.deepEqual(warnings([returning()], taking('UserId')), [])
    const others = [returning(['Id']), { ...returning(['UserId']), workerId: 'b' }].map(
      (one, at) => ({
        ...one,
        workerId: `other-${at}`,
      }),
    )
    assert.deepEqual(warnings(others, taking('UserId')), [], 'one of several workers returns it')
  })

  it('knows what built-in functions return without any worker', () => {
    const source = taking('UserNumber').replace('Do-It', 'New-EntraUser')
    const { problems } = readRunbook(source, { catalogues: [M365_CATALOGUE] })
    const found = problems.find(({ code }) => code === 'UNKNOWN_OUTPUT')
    assert.match(found!.message, /^New-EntraUser returns no field "UserNumber"\. It returns: Id, /)
  })

  it('refuses a clash of names of the step’s own worker only', () => {
    const facts = { effect: 'changes', isIdempotent: true, undoneBy: [] } as const
    const builtIn = { workerId: null, functions: [{ name: 'do-it', parameters: {}, facts }] }
    const own = (workerId: string, more: object): FunctionCatalogue => ({
      workerId,
      functions: [{ name: 'Do-It', parameters: {}, facts: { ...facts, isCustom: true, ...more } }],
    })
    const found = (one: FunctionCatalogue) => warnings([builtIn, one])
    assert.deepEqual(found(own('worker-1', {})), ['FUNCTION_NAME_TAKEN'])
    assert.deepEqual(found(own('worker-1', { overrides: true })), [])
    assert.deepEqual(found(own('other', {})), [])
    assert.deepEqual(warnings([own('worker-1', {})]), [], 'no built-in function has the name')
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
