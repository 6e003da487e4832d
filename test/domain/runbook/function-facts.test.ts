// What functions declare, and what counts where nobody declared anything.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { FunctionCatalogue } from '../../../src/domain/runbook/catalogues.ts'
import {
  type FunctionFacts,
  factsFrom,
  functionFacts,
  mayChangeTenant,
  noReturnSteps,
} from '../../../src/domain/runbook/function-facts.ts'

const READS: FunctionFacts = { effect: 'reads', isIdempotent: true, undoneBy: [] }
const CHANGES: FunctionFacts = { effect: 'changes', isIdempotent: true, undoneBy: [] }

const catalogue = (
  workerId: string | null,
  facts: Readonly<Record<string, FunctionFacts | null>>,
): FunctionCatalogue => ({
  workerId,
  functions: Object.entries(facts).map(([name, one]) => ({ name, parameters: {}, facts: one })),
})

describe('the facts of a function', () => {
  const factsOf = factsFrom([
    catalogue(null, { 'Get-It': READS, 'Set-It': CHANGES }),
    catalogue('own', { 'Get-It': CHANGES, 'Look-Up': READS }),
    catalogue('earlier', { 'Get-It': null, 'Look-Up': null }),
    { workerId: 'silent', functions: null },
  ])

  it('are those that its worker announced, before those of the program', () => {
    assert.equal(factsOf('own', 'Get-It'), CHANGES)
    assert.equal(factsOf('OWN', 'look-up'), READS)
  })

  it('are those of the program for a worker that announced none', () => {
    for (const worker of ['earlier', 'silent', 'unheard-of'])
      assert.equal(factsOf(worker, 'get-it'), READS)
  })

  it('never come from another worker', () => {
    assert.equal(factsOf('earlier', 'Look-Up'), null)
    assert.equal(factsOf('silent', 'Look-Up'), null)
  })

  it('count as a change where nobody declared them, and for a template', () => {
    assert.equal(mayChangeTenant(factsOf('own', 'Ours-Only')), true)
    assert.equal(mayChangeTenant(factsOf('own', '{{Action}}')), true)
    assert.equal(mayChangeTenant(READS), false)
    assert.equal(mayChangeTenant({ ...READS, effect: 'tells' }), false)
    assert.equal(mayChangeTenant(CHANGES), true)
  })

  it('name the steps of no return, and judge no unknown function', () => {
    const lost = { ...CHANGES, isIrreversible: true } as const
    const of = factsFrom([catalogue('w', { 'Clear-It': lost, 'Set-It': CHANGES })])
    const steps = ['Set-It', 'Clear-It', 'Unknown'].map((name) => ({
      name: `step ${name}`,
      workerId: 'w',
      function: name,
    }))
    assert.deepEqual(noReturnSteps(steps, of), ['step Clear-It'])
  })

  it('are refused when a worker sends something else', () => {
    assert.equal(functionFacts.safeParse({ ...READS, effect: 'looks' }).success, false)
    assert.equal(functionFacts.safeParse({ ...READS, more: 1 }).success, false)
    assert.deepEqual(functionFacts.parse(CHANGES), CHANGES)
  })
})
