// Compares a namespace with what it must hold, creates what is missing if asked, and proves by one message that sending and receiving work.
// It changes nothing that exists.

import { messageOf } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { durationText } from '../../base/text/duration.ts'
import type { OutboxRow } from '../outbox.ts'
import { rowOf } from '../outbox.ts'
import type { Administration, FoundSubscription } from './administration.ts'
import type { ServiceBusConnection } from './connection.ts'
import { readControl } from './control.ts'
import {
  DEFAULT_RULE,
  type SubscriptionEntity,
  subscriptionEntities,
  TOPIC_ENTITIES,
} from './entities.ts'
import { send } from './sending.ts'

export interface BusCheck {
  readonly name: string
  readonly state: 'ok' | 'created' | 'failed'
  readonly about: string
  readonly advice: string
}

export interface BusCheckOptions {
  readonly administration: Administration
  readonly connection: ServiceBusConnection
  readonly clock: Clock
  readonly workerIds: readonly string[]
  readonly mayCreate: boolean
}

const CREATE = 'Run "matoolkit doctor bus --create" with the right to manage the namespace.'
const RENEW = 'Correct it, or delete it while nothing runs and run "matoolkit doctor bus --create".'
/** Azure's limit on a subscription's name. */
const NAME_MAX = 50

export async function checkNamespace(options: BusCheckOptions): Promise<BusCheck[]> {
  const checks: BusCheck[] = []
  for (const { name, ...wanted } of TOPIC_ENTITIES)
    checks.push(await checkTopic(options, name, wanted))
  for (const entity of subscriptionEntities(options.workerIds))
    checks.push(await checkSubscription(options, entity))
  const isWhole = checks.every(({ state }) => state !== 'failed')
  if (isWhole && options.workerIds.length > 0) checks.push(await checkRoundTrip(options))
  return checks
}

type Wanted = Readonly<Record<string, unknown>>

async function checkTopic(
  { administration, mayCreate }: BusCheckOptions,
  name: (typeof TOPIC_ENTITIES)[number]['name'],
  wanted: Omit<(typeof TOPIC_ENTITIES)[number], 'name'>,
): Promise<BusCheck> {
  return tried(`topic ${name}`, async () => {
    const found = await administration.topic(name)
    if (found) return judged(differences({ ...found }, { ...wanted }))
    if (!mayCreate) return missing()
    await administration.createTopic({ name, ...wanted })
    return created()
  })
}

async function checkSubscription(
  { administration, mayCreate }: BusCheckOptions,
  entity: SubscriptionEntity,
): Promise<BusCheck> {
  const { topic, name, filter, ...settings } = entity
  return tried(`subscription ${topic}/${name}`, async () => {
    if (name.length > NAME_MAX)
      return failed(`the name has more than ${NAME_MAX} characters`, 'Choose a shorter worker id.')
    const found = await administration.subscription(topic, name)
    if (found) {
      const { timeToLiveMs, ...others } = settings
      const isLonger = found.settings.timeToLiveMs > timeToLiveMs && others.isDeadLetteredOnExpiry
      // The topic's time to live counts when it is shorter, and so does that of our messages.
      const wanted = isLonger ? others : settings
      const faults = [
        ...differences({ ...found.settings }, { ...wanted }),
        ...ruleFaults(found.rules, filter),
      ]
      return faults.length > 0 ? judged(faults) : ok(notesOn(found, isLonger))
    }
    if (!mayCreate) return missing()
    await administration.createSubscription(entity)
    return created()
  })
}

/** What differs and works, as in subscriptions of the earlier system. */
function notesOn({ settings, rules }: FoundSubscription, isLonger: boolean): string {
  const rule = rules.has(DEFAULT_RULE) ? [] : [...rules.keys()]
  return [
    ...(isLonger ? [`time to live ${durationText(settings.timeToLiveMs)}: works`] : []),
    ...rule.map((name) => `the rule is called ${name}: works`),
  ].join('; ')
}

/** Rules are OR-ed: any other rule lets messages in that are not for this worker. */
function ruleFaults(
  rules: ReadonlyMap<string, Wanted | null>,
  filter: SubscriptionEntity['filter'],
): string[] {
  if (filter === null) return rules.size > 0 ? [] : ['no rule, so that no message comes in']
  const named = rules.has(DEFAULT_RULE) ? DEFAULT_RULE : [...rules.keys()][0]
  const others = [...rules.keys()].filter((name) => name !== named)
  const own = JSON.stringify(rules.get(named ?? DEFAULT_RULE) ?? null)
  return [
    ...(own === JSON.stringify(filter)
      ? []
      : [`the rule ${named ?? DEFAULT_RULE} is ${own}, not ${JSON.stringify(filter)}`]),
    ...others.map((name) => `the rule ${name} lets further messages in`),
  ]
}

const differences = (found: Wanted, wanted: Wanted): string[] =>
  Object.entries(wanted)
    .filter(([key, value]) => found[key] !== value)
    .map(([key, value]) => `${key} is ${found[key]}, not ${value}`)

const TRIES = 25
const PAUSE_MS = 200

/** Says nothing about any job, so it does nothing but travel. */
async function checkRoundTrip(options: BusCheckOptions): Promise<BusCheck> {
  const { connection, clock } = options
  const workerId = options.workerIds[0]!
  const now = clock.now()
  const because = `a check of ${now.toISOString()}`
  const row: OutboxRow = rowOf(
    {
      topic: 'worker-jobs',
      type: 'worker-stop',
      workerId,
      messageId: `check-${workerId}-${+now}`,
      body: { workerId, jobIds: [], because },
    },
    now,
  )
  return tried('round trip', async () => {
    await send(connection, [row], now)
    for (let tries = 0; tries < TRIES; tries += 1) {
      const { bodies } = await readControl(connection, workerId, null)
      if (bodies.some((body) => body.includes(because))) return ok(`through control-${workerId}`)
      await clock.wait(PAUSE_MS)
    }
    return failed('a message was sent and did not arrive', 'Check the rules of the subscription.')
  })
}

type Verdict = Omit<BusCheck, 'name'>
const ok = (about = ''): Verdict => ({ state: 'ok', about, advice: '' })
const created = (): Verdict => ({ state: 'created', about: 'it was missing', advice: '' })
const failed = (about: string, advice: string): Verdict => ({ state: 'failed', about, advice })
const missing = (): Verdict => failed('it is missing', CREATE)
const judged = (faults: readonly string[]): Verdict =>
  faults.length === 0 ? ok() : failed(faults.join('; '), RENEW)

const RIGHTS =
  'Give the identity "Azure Service Bus Data Owner" for this check, and check host, network and sign-in.'

async function tried(name: string, check: () => Promise<Verdict>): Promise<BusCheck> {
  try {
    return { name, ...(await check()) }
  } catch (error) {
    const { statusCode } = error as { statusCode?: number }
    const status = statusCode === undefined ? '' : ` (${statusCode})`
    return { name, ...failed(`${messageOf(error).split('\n')[0]}${status}`, RIGHTS) }
  }
}
