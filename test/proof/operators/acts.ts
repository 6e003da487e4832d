// Operator actions of the seeded world, as data. Each picks its target from what the API shows at that moment, usually a sensible
// one.

import { csvOf, formOf } from '../../api/contract/fixtures.ts'
import type { ApiUnderTest } from '../../api/under-test.ts'
import type { Chance } from '../simulation/chance.ts'

export interface Act {
  readonly method: string
  readonly path: string
  readonly body?: Readonly<Record<string, unknown>>
  /** Rows of a member file, sent instead of a body. */
  readonly file?: readonly string[]
  /** Path that shows the state the operator decides on. */
  readonly seenAt?: string
  /** May find nothing to change; then no audit row is expected. */
  readonly mayBeNothing?: true
}

export interface Scene {
  readonly api: ApiUnderTest
  readonly chance: Chance
  readonly batchId: number
}

export const PEOPLE = 8
export const keyOf = (number: number): string => `p${number}@x.example`
const reason = 'so it was decided'

/** Phases of one or two steps, some polled or retried; init, a rollback and a removal step. */
export const yamlOf = (version: number): string => `
name: ops
data_source: { type: csv, path: people.csv, primary_key: UserPrincipalName, batch_time_column: When, time_zone: UTC }
retry: { max_retries: ${(version + 1) % 2}, interval: 1m }
init: [{ name: setup, worker_id: w1, function: New-Wave }]
phases:
  - name: prepare
    offset: T-1d
    steps:
      - { name: create, worker_id: w1, function: New-Thing, params: { UserPrincipalName: "{{UserPrincipalName}}" }, output_params: { ThingId: id } }
      - { name: fill, worker_id: w1, function: Fill-Thing, params: { Id: "{{ThingId}}" }, poll: { interval: 5m, timeout: 1h } }
  - name: cutover
    offset: T-0
    steps: [{ name: switch, worker_id: w1, function: Switch-Thing, params: { V: "${version}" }, on_failure: back }]
on_member_removed: [{ name: clean, worker_id: w1, function: Remove-Thing, params: { UserPrincipalName: "{{UserPrincipalName}}" } }]
rollbacks: { back: [{ name: undo, worker_id: w1, function: Undo-Thing, params: { UserPrincipalName: "{{UserPrincipalName}}" } }] }
`
const STEPS = ['create', 'fill', 'switch']

const batchAct =
  (verb: string, more: (scene: Scene) => object = () => ({})) =>
  async (scene: Scene): Promise<Act> => ({
    method: 'POST',
    path: `/api/batches/${scene.batchId}/${verb}`,
    body: { reason, ...more(scene) },
    seenAt: `/api/batches/${scene.batchId}`,
  })

/** Targets a batch of some kind, if one exists. */
const onOne =
  (query: string, act: (scene: Scene) => Promise<Act | null>) =>
  async (scene: Scene): Promise<Act | null> => {
    const { api, chance } = scene
    const { body } = await api.call<{ batches: { id: number }[] }>('GET', `/api/batches?${query}`)
    const ids = body.batches.map(({ id }) => id)
    return act(ids.length === 0 ? scene : { ...scene, batchId: chance.pick(ids) })
  }

const membersAct =
  (verb: string, more: (scene: Scene) => object = () => ({})) =>
  async (scene: Scene): Promise<Act> => {
    const { api, chance, batchId } = scene
    const path = `/api/batches/${batchId}/members`
    const { body } = await api.call<{ members: { id: number }[] }>('GET', path)
    const ids = chance.shuffled(body.members.map(({ id }) => id)).slice(0, chance.between(1, 3))
    const select = chance.pick([
      { all: true },
      { ids },
      { failedStep: chance.pick(STEPS) },
      { error: 'no' },
    ])
    return { method: 'POST', path: `${path}/${verb}`, body: { reason, select, ...more(scene) } }
  }

/** A hold of the batch, or its end. */
const heldAct =
  (path: string) =>
  async ({ batchId }: Scene): Promise<Act> => ({
    method: 'POST',
    path,
    body: { scope: 'batch', target: `${batchId}`, reason },
  })

/** Targets a step in a status that suits the action. */
const stepAct =
  (verb: string, status: string, more: object = {}) =>
  async ({ api, chance, batchId }: Scene): Promise<Act | null> => {
    const path = `/api/batches/${batchId}/steps?status=${status}`
    const { body } = await api.call<{ steps: { id: number; hasLateResult: boolean }[] }>(
      'GET',
      path,
    )
    const late = body.steps.filter(({ hasLateResult }) => hasLateResult)
    const steps = verb === 'accept-late' && late.length > 0 ? late : body.steps
    if (steps.length === 0) return null
    const seenAt = `/api/steps/${chance.pick(steps).id}`
    return { method: 'POST', path: seenAt, body: { decision: verb, reason, ...more }, seenAt }
  }

async function advance(scene: Scene): Promise<Act> {
  const seenAt = `/api/batches/${scene.batchId}`
  const { body } = await scene.api.call<{ nextPhase: string | null }>('GET', seenAt)
  const guess = scene.chance.pick(['init', 'prepare', 'cutover'])
  const expectedPhase = scene.chance.happens(0.8) ? (body.nextPhase ?? guess) : guess
  const allowStragglers = scene.chance.happens(0.5)
  const act = { method: 'POST', path: `${seenAt}/advance`, seenAt }
  return { ...act, body: { expectedPhase, allowStragglers, reason } }
}

async function remove({ api, chance, batchId }: Scene): Promise<Act> {
  const path = `/api/batches/${batchId}/members`
  const { body } = await api.call<{ members: { id: number }[] }>('GET', path)
  const { id } = chance.pick(body.members)
  return { method: 'DELETE', path: `${path}/${id}`, seenAt: `${path}/${id}` }
}

const someKeys = (chance: Chance): string[] =>
  chance
    .shuffled(Array.from({ length: PEOPLE + 4 }, (_, n) => keyOf(n + 1)))
    .slice(0, chance.between(1, 4))

const reschedule = batchAct('reschedule', ({ api, chance }) => ({
  startTime: new Date(+api.world.clock.now() + chance.between(-20, 60) * 3_600_000).toISOString(),
  allowOverdue: chance.happens(0.4),
}))

export const ACTS: Readonly<Record<string, (scene: Scene) => Promise<Act | null>>> = {
  hold: heldAct('/api/holds'),
  resume: onOne('held=true', heldAct('/api/holds/resume')),
  cancel: batchAct('cancel'),
  restart: onOne('status=failed', batchAct('restart')),
  reschedule: onOne('manual=false&status=detected,init_dispatched,active', reschedule),
  clone: batchAct('clone'),
  advance: onOne('manual=true&status=detected,active', advance),
  remove,
  retry: membersAct('retry', ({ chance }) =>
    chance.happens(0.3) ? { fromStep: chance.pick(STEPS) } : {},
  ),
  redo: membersAct('retry', ({ chance }) => ({ fromStep: chance.pick(STEPS), again: true })),
  variable: membersAct('variable', ({ chance }) => ({ name: 'ThingId', value: chance.below(9) })),
  skip: stepAct('skip', 'pending,failed,poll_timeout,rolled_back'),
  done: stepAct('done', 'pending,failed,poll_timeout,rolled_back', { outputs: { ThingId: 'x' } }),
  acceptLate: onOne(
    'status=active,failed,completed',
    stepAct('accept-late', 'failed,poll_timeout,rolled_back'),
  ),
  create: async ({ chance }) => ({
    method: 'POST',
    path: '/api/batches',
    file: someKeys(chance),
  }),
  add: async ({ chance, batchId }) => ({
    method: 'POST',
    path: `/api/batches/${batchId}/members`,
    file: someKeys(chance),
    seenAt: `/api/batches/${batchId}`,
  }),
  publish: async ({ chance }) => ({
    method: 'POST',
    path: '/api/runbooks',
    body: { yamlContent: yamlOf(chance.between(1, 3)), rerunInit: chance.happens(0.2) },
    mayBeNothing: true,
  }),
  automation: async ({ chance }) => ({
    method: 'PUT',
    path: '/api/runbooks/ops/automation',
    body: { enabled: chance.happens(0.5) },
    mayBeNothing: true,
  }),
}

/** Weight relative to the other actions; default 1. */
export const WEIGHTS: Readonly<Record<keyof typeof ACTS, number>> = {
  ...Object.fromEntries(Object.keys(ACTS).map((name) => [name, 1])),
  hold: 2,
  resume: 2,
  cancel: 0.4,
  clone: 0.6,
  restart: 1.5,
  advance: 2,
  retry: 2,
  publish: 0.6,
  acceptLate: 3,
}

export const formOfFile = (rows: readonly string[], isNew: boolean): FormData =>
  formOf(csvOf('UserPrincipalName', ...rows), isNew ? { runbookName: 'ops' } : {})
