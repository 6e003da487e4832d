// The management of a namespace by Microsoft's SDK: reads and creates topics, subscriptions and rules. Needs the right to manage the
// namespace, which no role of ours has at work.
import type { ServiceBusAdministrationClient } from '@azure/service-bus'
import { loadSdk, type ServiceBusAccess } from './connection.ts'
import type { SubscriptionEntity, TopicEntity } from './entities.ts'
import { DEFAULT_RULE } from './entities.ts'

/** `adminUrl`: where the emulator's management listens; it speaks plain http. */
export async function openAdministration(
  access: ServiceBusAccess,
  adminUrl: string,
): Promise<Administration> {
  const { ServiceBusAdministrationClient: Client } = await loadSdk()
  if ('namespace' in access)
    return new Administration(new Client(access.namespace, access.credential))
  const { host } = new URL(adminUrl)
  const client = new Client(
    access.connectionString.replace(/Endpoint=sb:\/\/[^;]+/, `Endpoint=sb://${host}`),
  )
  client.pipeline.addPolicy({
    name: 'emulator',
    sendRequest: (request, next) => {
      request.url = request.url.replace(/^https:/, 'http:')
      request.allowInsecureConnection = true
      return next(request)
    },
  })
  return new Administration(client)
}

export type FoundTopic = Omit<TopicEntity, 'name'>
export interface FoundSubscription {
  readonly settings: Omit<SubscriptionEntity, 'topic' | 'name' | 'filter'>
  /** The rules by name: the properties that each compares, or null for one of another kind. */
  readonly rules: ReadonlyMap<string, Readonly<Record<string, unknown>> | null>
}

export class Administration {
  readonly #client: ServiceBusAdministrationClient

  constructor(client: ServiceBusAdministrationClient) {
    this.#client = client
  }

  async topic(name: string): Promise<FoundTopic | null> {
    const found = await orNull(() => this.#client.getTopic(name))
    return (
      found && {
        duplicateWindowMs: found.requiresDuplicateDetection
          ? durationMs(found.duplicateDetectionHistoryTimeWindow)
          : 0,
        timeToLiveMs: durationMs(found.defaultMessageTimeToLive),
      }
    )
  }

  async createTopic({ name, duplicateWindowMs, timeToLiveMs }: TopicEntity): Promise<void> {
    await this.#client.createTopic(name, {
      requiresDuplicateDetection: true,
      duplicateDetectionHistoryTimeWindow: durationOf(duplicateWindowMs),
      defaultMessageTimeToLive: durationOf(timeToLiveMs),
    })
  }

  async subscription(topic: string, name: string): Promise<FoundSubscription | null> {
    const found = await orNull(() => this.#client.getSubscription(topic, name))
    if (!found) return null
    const rules = new Map<string, Readonly<Record<string, unknown>> | null>()
    for await (const rule of this.#client.listRules(topic, name)) {
      rules.set(rule.name, comparedBy(rule.filter as RuleFilter))
    }
    return {
      settings: {
        lockMs: durationMs(found.lockDuration),
        maxDeliveries: found.maxDeliveryCount,
        timeToLiveMs: durationMs(found.defaultMessageTimeToLive),
        isDeadLetteredOnExpiry: found.deadLetteringOnMessageExpiration,
      },
      rules,
    }
  }

  /** The default rule is the filter from the beginning: no message slips through. */
  async createSubscription(entity: SubscriptionEntity): Promise<void> {
    const { topic, name, filter } = entity
    await this.#client.createSubscription(topic, name, {
      lockDuration: durationOf(entity.lockMs),
      maxDeliveryCount: entity.maxDeliveries,
      defaultMessageTimeToLive: durationOf(entity.timeToLiveMs),
      deadLetteringOnMessageExpiration: entity.isDeadLetteredOnExpiry,
      ...(filter && {
        defaultRuleOptions: {
          name: DEFAULT_RULE,
          filter: { applicationProperties: { ...filter } },
        },
      }),
    })
  }
}

interface RuleFilter {
  readonly applicationProperties?: Readonly<Record<string, unknown>>
  readonly sqlExpression?: string
}

const EQUATION = /^\s*(?:user\.)?\[?(\w+)\]?\s*=\s*'([^']*)'\s*$/i

/** A correlation filter, or the SQL filter that says the same. */
function comparedBy(filter: RuleFilter): Readonly<Record<string, unknown>> | null {
  if (filter.applicationProperties) return filter.applicationProperties
  const [, name, value] = EQUATION.exec(filter.sqlExpression ?? '') ?? []
  return name === undefined ? null : { [name]: value }
}

async function orNull<T>(find: () => Promise<T>): Promise<T | null> {
  try {
    return await find()
  } catch (error) {
    const { code, statusCode } = error as { code?: string; statusCode?: number }
    if (code === 'MessageEntityNotFoundError' || statusCode === 404) return null
    throw error
  }
}

const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1_000]
const ISO = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?)?$/

/** Durations as the management writes them: P7D, PT10M. */
function durationMs(text: string): number {
  const parts = ISO.exec(text)?.slice(1) ?? []
  return parts.reduce((sum, part, at) => sum + Number(part ?? 0) * UNITS_MS[at]!, 0)
}

const durationOf = (ms: number): string => `PT${Math.round(ms / 1_000)}S`
