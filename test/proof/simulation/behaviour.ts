// How functions behave: most succeed, some fail now and then, some members always fail at some function, long operations are
// incomplete at first. Drawn from the seed, and stable per member and function.

import type { Json } from '../../../src/base/text/json.ts'
import type { Message } from '../../../src/domain/messages/messages.ts'
import type { LedgerEffect } from '../../../src/domain/state/effects.ts'
import { drawEffect } from './night.ts'
import type { World } from './world.ts'

export type Answer =
  | { readonly ok: Json; readonly effect?: LedgerEffect }
  | { readonly fail: string }
export type Behaviour = (job: Message<'worker-job'>) => Answer

const POLLED = new Set(['Do-sync', 'Do-ready', 'Do-verify'])
const ALWAYS_FAILS = 0.12
const DOOMED_FAILS = 0.85
/** Init that never succeeds, for restarts. */
const INIT_FAILS = 0.3
const RATES: Readonly<Record<string, number>> = { 'Do-doomed': DOOMED_FAILS, 'Do-open': INIT_FAILS }

/** Functions that tell what they changed, in a world with effects. */
export function drawBehaviour(world: Pick<World, 'chance' | 'faults' | 'night'>): Behaviour {
  const answer = drawAnswers(world)
  const effects = world.night?.effects
  if (!effects) return answer
  return (job) => {
    const said = answer(job)
    if ('fail' in said || job.functionName.startsWith('Undo-')) return said
    const about = job.parameters.Upn ?? 'batch'
    const effect = drawEffect(effects, { jobId: job.jobId, about })
    return effect ? { ...said, effect } : said
  }
}

function drawAnswers(world: Pick<World, 'chance' | 'faults'>): Behaviour {
  const chance = world.chance.stream('behaviour')
  const failRate = chance.pick([0, 0.1, 0.3, 0.6])
  const incompleteRate = chance.pick([0.2, 0.6, 0.9])
  const hopeless = new Map<string, boolean>()
  // A healed world does not wait: it would show nothing more.
  const happens = (rate: number) => !world.faults.isHealed && chance.happens(rate)
  return ({ functionName, parameters }) => {
    const pair = `${functionName} ${String(parameters.Upn ?? parameters.Batch ?? '')}`
    if (!hopeless.has(pair)) hopeless.set(pair, chance.happens(RATES[functionName] ?? ALWAYS_FAILS))
    if (hopeless.get(pair)) return { fail: 'it always fails for this member' }
    if (happens(failRate)) return { fail: 'it did not work this time' }
    if (POLLED.has(functionName)) {
      return {
        ok: happens(incompleteRate) ? { complete: false } : done(chance.below(9)),
      }
    }
    const isPlain = chance.happens(0.15)
    return { ok: isPlain ? chance.pick(PLAIN) : { id: `T-${chance.below(99)}`, size: 3 } }
  }
}

const done = (number: number): Json => ({ complete: true, data: { Number: number } })

/** Results with fewer or more outputs than the runbook expects. */
const PLAIN: readonly Json[] = [
  { ID: 'T-0' },
  { id: 'T-1', size: null, more: { deep: [1, 2] } },
  { id: 'T-2', complete: true },
  true,
  'done',
  null,
]
