// The night of a lead: a pilot, tonight's wave with eight people who fail in preparing, and the wave of next week.
import type { JsonObject } from '../../../src/base/text/json.ts'
import type { ApiUnderTest } from '../../api/under-test.ts'
import { runbook, step } from '../../stories/looking.ts'
import type { World } from '../../stories/world.ts'

type GivenMember = Exclude<Parameters<World['batch']>[1], number>[number]

export const WAVE = runbook(
  'wave',
  {
    'prepare T-1h': [
      step('create', 'on_failure: back'),
      step('licence', 'on_failure: back'),
      step('mailbox'),
    ],
    'cutover T-0 gate: { approvals: 1 }': [step('switch')],
    'aftercare T+1d': [step('check')],
  },
  `rollbacks: { back: [${step('delete')}] }`,
)
export const [PILOT, TONIGHT] = [1, 2]
export const NAMES = 'ada bo cy dan eve finn gia hal ida jon kim leo mia tilda olaf pia quin'.split(
  ' ',
)
export const keyOf = (name: string): string => `${name}@contoso.example`
export const person = (name: string): GivenMember => ({
  key: keyOf(name),
  data: {
    UserPrincipalName: keyOf(name),
    DisplayName: `${name[0]!.toUpperCase()}${name.slice(1)} Adler`,
    Department: 'Sales',
  },
})

/** Fails at a step until somebody repairs it. */
export const BROKEN: Record<string, readonly [step: string, error: string]> = {
  dan: ['mailbox', 'The archive is full.'],
  eve: ['mailbox', 'The archive is full.'],
  finn: ['mailbox', 'The quota is used up.'],
  gia: ['mailbox', 'The quota is used up.'],
  hal: ['licence', 'No licence is left.'],
  ida: ['licence', 'No licence is left.'],
  tilda: ['licence', 'A namesake has the plan.'],
  jon: ['licence', 'A namesake has the plan.'],
}

const HOUR = 3_600

/** At 11:10: the pilot is cut over, and tonight's preparation has run. */
export async function beginNight(
  { world, call }: ApiUnderTest,
  broken: ReadonlyMap<string, readonly [step: string, error: string]>,
): Promise<void> {
  world.answer = ({ functionName, parameters }) => {
    const target = String(parameters.Upn)
    const fault = broken.get(target.split('@')[0]!)
    if (fault?.[0] === functionName) return { fail: fault[1] }
    const undo = { functionName: `un-${functionName}`, parameters: { Upn: target } }
    const effect: JsonObject = { changed: true, target, before: { exists: false }, undo }
    return { ok: {}, ...(['create', 'mailbox'].includes(functionName) && { effect }) }
  }
  await world.publish(WAVE)
  await world.batch('wave', NAMES.slice(0, 3).map(person), { startsInMin: 60 })
  await call('POST', `/api/batches/${PILOT}/gates/cutover`, {
    body: { decision: 'approve', reason: 'the pilot' },
  })
  await world.batch('wave', NAMES.slice(3, 15).map(person), { startsInMin: 240 })
  await world.batch('wave', NAMES.slice(15).map(person), { startsInMin: 7 * 24 * 60 })
  await world.pass(HOUR)
  // 11:10: the preparation of the main wave has run.
  await world.pass(2 * HOUR + 10 * 60)
}
