// Gates over HTTP: the list before a phase starts, approvals, waivers, withdrawals and their refusals.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain } from './fixtures.ts'

interface Gate {
  phaseName: string
  state: string
  missing: string[]
  approvals: { needed: number; given: number }
  readiness: {
    neededPercent: number
    percent: number
    ready: number
    members: number
    isWaived: boolean
  }
  earlierPhases: { phaseName: string; passed: number; openSteps: number }[]
  decisions: { kind: string; by: string; isCounted: boolean; endedBecause: string | null }[]
}
interface Gates {
  publishedBy: string
  failedMembers: number
  holds: { heldBy: string }[]
  gates: Gate[]
}

const reason = 'checked'
const gated = plain().replace('offset: T-0', 'offset: T-0\n    gate: { approvals: 1, ready: 90% }')

describe('gates', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(gated)
    const members = people(2)
    await api.world.batch('plain', members, { startsInMin: 30 })
    await api.world.orchestrate()
  })
  after(() => api.close())
  const gates = async () => (await api.call<Gates>('GET', '/api/batches/1/gates')).body
  const decide = (decision: string, body: object = {}) =>
    api.call<{ isDryRun: boolean; gate: Gate }>('POST', '/api/batches/1/gates/Cutover', {
      body: { decision, reason, ...body },
    })

  it('stand in one list with readiness, failures, reviews, holds and decisions', async () => {
    const { gates: all, publishedBy, failedMembers, holds } = await gates()
    assert.deepEqual([publishedBy, failedMembers, holds], ['author', 0, []])
    const [gate] = all
    assert.equal(all.length, 1)
    assert.deepEqual(gate!.missing, ['0 of 1 approvals', '0 of 2 members ready (0 %), 90 % needed'])
    assert.equal(gate!.state, 'closed')
    const [{ phaseName, passed, openSteps }] = gate!.earlierPhases as [Gate['earlierPhases'][0]]
    assert.deepEqual([phaseName, passed, openSteps], ['prepare', 0, 2])
    await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/99/gates')
  })

  it('are approved, waived and withdrawn with a reason', async () => {
    assert.equal((await decide('approve', { dryRun: true })).body.gate.approvals.given, 1)
    assert.equal((await gates()).gates[0]!.approvals.given, 0, 'a dry run changes nothing')
    assert.deepEqual((await decide('approve')).body.gate.approvals, {
      needed: 1,
      given: 1,
      survives: 0,
    })
    const until = new Date(+api.world.clock.now() + 3_600_000).toISOString()
    const waived = (await decide('waive', { until })).body.gate
    assert.deepEqual([waived.state, waived.missing, waived.readiness.isWaived], ['open', [], true])
    const withdrawn = (await decide('withdraw')).body.gate
    assert.deepEqual([withdrawn.state, withdrawn.missing], ['closed', ['0 of 1 approvals']])
    await decide('withdraw', { kind: 'waiver' })
    const { gates: after } = await gates()
    assert.deepEqual(
      after[0]!.decisions.map(({ kind, isCounted }) => `${kind} ${isCounted}`),
      ['waiver false', 'approval false'],
    )
    const { body } = await api.call<{ entries: { action: string; reason: string }[] }>(
      'GET',
      '/api/audit?limit=10',
    )
    const actions = JSON.stringify(body)
    for (const action of ['gate.approve', 'gate.waive', 'gate.withdraw'])
      assert.match(actions, new RegExp(action))
  })

  it('refuse what cannot be decided', async () => {
    await api.refused(400, 'REQUEST_INVALID', 'POST', '/api/batches/1/gates/cutover', {
      body: { decision: 'waive', reason },
    })
    const until = '2026-03-01T00:00:00Z'
    const at = (phase: string, verb: string, batch = 1): [string, string, { body: object }] => [
      'POST',
      `/api/batches/${batch}/gates/${phase}`,
      { body: { decision: verb, reason, ...(verb === 'waive' && { until }) } },
    ]
    for (const verb of ['approve', 'waive', 'withdraw']) {
      await api.refused(404, 'GATE_NOT_FOUND', ...at('nobody', verb))
      await api.refused(404, 'BATCH_NOT_FOUND', ...at('cutover', verb, 99))
    }
    await decide('approve')
    const { body } = await api.refused(409, 'REFUSED', ...at('cutover', 'approve'))
    assert.match(body.detail, /has already approved phase cutover/)
    await api.refused(409, 'REFUSED', ...at('cutover', 'waive'))
    await decide('withdraw')
    await api.refused(409, 'REFUSED', ...at('cutover', 'withdraw'))
    await api.refused(409, 'REFUSED', ...at('prepare', 'approve'))
  })
})

covers('decideGate', 'listGates')
