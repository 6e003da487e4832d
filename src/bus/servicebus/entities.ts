// What a namespace must hold: three topics, a subscription of the orchestrator on two of them and one per worker on the third, with
// their settings. `matoolkit doctor bus` compares a namespace with this table and creates what is missing.
import {
  DUPLICATE_WINDOW_MS,
  LEASE_MS,
  MAX_DELIVERIES,
  ORCHESTRATOR_EVENTS,
  type Subscription,
  TIME_TO_LIVE_MAX_MS,
  TOPICS,
  type Topic,
  WORKER_RESULTS,
  workerControl,
  workerJobs,
} from '../bus.ts'

/** A new subscription has this rule, which lets everything in. For a worker it must be the filter, because rules are OR-ed. */
export const DEFAULT_RULE = '$Default'

/** Stands for WorkerId on messages that are not jobs, so that they do not queue behind jobs. */
export const CONTROL_PROPERTY = 'ControlFor'

export interface TopicEntity {
  readonly name: Topic
  readonly duplicateWindowMs: number
  readonly timeToLiveMs: number
}

export interface SubscriptionEntity extends Subscription {
  readonly lockMs: number
  readonly maxDeliveries: number
  readonly timeToLiveMs: number
  readonly isDeadLetteredOnExpiry: boolean
  /** The properties that a message must have, exactly; null lets all messages in. */
  readonly filter: Readonly<Record<string, string>> | null
}

export const TOPIC_ENTITIES: readonly TopicEntity[] = TOPICS.map((name) => ({
  name,
  duplicateWindowMs: DUPLICATE_WINDOW_MS,
  timeToLiveMs: TIME_TO_LIVE_MAX_MS,
}))

/** What is said about jobs is over when they are: a hello says it again. */
const CONTROL_LIFE_MS = 10 * 60_000

const SETTINGS = {
  lockMs: LEASE_MS,
  maxDeliveries: MAX_DELIVERIES,
  timeToLiveMs: TIME_TO_LIVE_MAX_MS,
  isDeadLetteredOnExpiry: true,
}

export const subscriptionEntities = (workerIds: readonly string[]): SubscriptionEntity[] => [
  ...[ORCHESTRATOR_EVENTS, WORKER_RESULTS].map((one) => ({ ...one, ...SETTINGS, filter: null })),
  ...workerIds.flatMap((id) => [
    { ...workerJobs(id), ...SETTINGS, filter: { WorkerId: id } },
    {
      ...workerControl(id),
      ...SETTINGS,
      filter: { [CONTROL_PROPERTY]: id },
      timeToLiveMs: CONTROL_LIFE_MS,
      isDeadLetteredOnExpiry: false,
    },
  ]),
]
