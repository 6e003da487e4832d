// Steps with conditions: people of several kinds share a runbook, and nobody gets a step that is not theirs.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { retryMembers, setMemberVariable } from '../../src/engine/orders/member-actions.ts'
import { because, calls, memberId, order, phasesOf, runbook, step, stepsOf } from './looking.ts'
import { story } from './world.ts'

const RETRIED = 'retry: { max_retries: 1, interval: 10s }'
const PHASES = {
  'prepare T-1h': [
    step('look', 'output_params: { Archive: archive }'),
    step('convert', 'when: [{ variable: UserType, is: guest }], output_params: { Converted: id }'),
    step('create', 'when: [{ variable: UserType, is_not: guest }], on_failure: undo'),
    step('archive', 'when: [{ variable: Archive, present: true }]'),
  ],
  'cutover T-0': [
    step(
      'licence',
      `when: [{ variable: Country, in: [DE, AT] }, { variable: Converted, present: false }], ${RETRIED}`,
    ),
  ],
}
const UNDO = `rollbacks: { undo: [${step('free', 'when: [{ variable: Country, is: FR }]')}, ${step('drop')}] }`

const person = (n: number, data: Record<string, string>) => ({
  key: `user${n}@contoso.example`,
  data: { UserPrincipalName: `user${n}@contoso.example`, ...data },
})
const PEOPLE = [
  person(1, { UserType: 'Guest', Country: 'DE' }),
  person(2, { UserType: 'Member', Country: 'at' }),
  person(3, { UserType: '', Country: 'FR' }),
]

it('a step whose condition does not hold is left out with its reason, and the others continue', () =>
  story({}, async (world) => {
    world.answer = ({ functionName, parameters }) => ({
      ok: {
        id: 'x',
        archive: functionName === 'look' && parameters.Upn === PEOPLE[1]!.key ? 'guid' : null,
      },
    })
    await world.publish(runbook('wave', PHASES, UNDO))
    const batchId = await world.batch('wave', PEOPLE, { startsInMin: 60 })
    await world.settle()
    await world.pass(3600)
    assert.deepEqual(calls(world).sort(), [
      'archive user2',
      'convert user1',
      'create user2',
      'create user3',
      'licence user2',
      'look user1',
      'look user2',
      'look user3',
    ])
    assert.deepEqual(await stepsOf(world, await memberId(world, batchId, 1)), [
      'look succeeded',
      'convert succeeded',
      'create skipped',
      'archive skipped',
      'licence skipped',
    ])
    assert.deepEqual((await because(world, 'leave_out')).sort(), [
      'Archive must be set; it is not set',
      'Archive must be set; it is not set',
      'Converted must not be set; it is "x"',
      'Country must be one of "DE", "AT"; it is "FR"',
      'UserType must be "guest"; it is "Member"',
      'UserType must be "guest"; it is not set',
      'UserType must not be "guest"; it is "Guest"',
    ])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 3: 3 passed',
      'cutover completed 3: 3 passed',
    ])
  }))

it('a rollback leaves out its own steps too and ends; a step that has begun is finished though its condition no longer holds', () =>
  story({}, async (world) => {
    let licences = 0
    world.answer = ({ functionName }) => {
      if (functionName === 'create') return { fail: 'no room' }
      if (functionName === 'licence' && licences++ === 0) return { fail: 'try again' }
      return { ok: { id: 'x', archive: null } }
    }
    await world.publish(runbook('wave', PHASES, UNDO))
    const two = [PEOPLE[1]!, person(4, { UserType: 'x', Country: 'AT' })]
    const batchId = await world.batch('wave', two, { startsInMin: 60 })
    await world.settle()
    assert.deepEqual(
      calls(world)
        .filter((call) => /free|drop/.test(call))
        .sort(),
      ['drop user2', 'drop user4'],
    )
    const member = await memberId(world, batchId, 2)
    assert.ok((await stepsOf(world, member)).includes('create rolled_back'))
    // The person turns out to be a guest after all: the step that failed is left out now, and the licence is tried twice.
    world.answer = ({ functionName }) =>
      functionName === 'licence' && licences++ === 0 ? { fail: 'once' } : { ok: { archive: null } }
    const asked = { ...order(batchId), memberIds: [member] }
    await setMemberVariable(world.engine, { ...asked, name: 'UserType', value: 'guest' })
    await retryMembers(world.engine, asked)
    await world.settle()
    await world.pass(3600)
    assert.ok(calls(world).includes('licence user2'))
    await setMemberVariable(world.engine, { ...asked, name: 'Country', value: 'FR' })
    await world.pass(60)
    assert.equal(calls(world).filter((call) => call === 'licence user2').length, 2)
    assert.equal(
      (await because(world, 'leave_out')).filter((why) => /it is "FR"/.test(why)).length,
      0,
    )
  }))
