// The management plane of the tests' namespace: Atom XML over HTTP, as ServiceBusAdministrationClient writes and reads it. A caller without
// the right to manage gets 401.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Namespace, SubscriptionEntity, TopicEntity } from './entities.ts'
import type { RuleFilter } from './filters.ts'

export interface Management {
  readonly url: string
  /** False answers 401 to everything. */
  isAllowed: boolean
  close(): Promise<void>
}

export async function openManagement(namespace: Namespace): Promise<Management> {
  const server: Server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const path = decodeURIComponent(new URL(request.url!, 'http://x').pathname).slice(1)
    const body = Buffer.concat(chunks).toString()
    const answer = management.isAllowed
      ? answerTo(namespace, request.method!, path.split('/'), body)
      : { status: 401, xml: '<Error><Code>401</Code><Detail>Manage is required</Detail></Error>' }
    response.writeHead(answer.status, { 'content-type': 'application/atom+xml;charset=utf-8' })
    response.end(answer.xml)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const management: Management = {
    url: `http://127.0.0.1:${port}`,
    isAllowed: true,
    close: async () => {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  return management
}

interface Answer {
  readonly status: number
  readonly xml: string
}

/** Azure answers a missing entity with an empty feed. */
const NOTHING: Answer = { status: 200, xml: '<feed xmlns="http://www.w3.org/2005/Atom"></feed>' }

function answerTo(namespace: Namespace, method: string, parts: string[], body: string): Answer {
  const [topicName = '', , subscriptionName, ofRules] = parts
  const topic = namespace.topic(topicName)
  if (subscriptionName === undefined) {
    if (method === 'PUT') return entry(topicName, topicXml(addTopic(namespace, topicName, body)))
    return topic ? entry(topicName, topicXml(topic)) : NOTHING
  }
  if (!topic) return { status: 404, xml: '<Error><Code>404</Code></Error>' }
  const found = namespace.subscription(topicName, subscriptionName)
  if (ofRules !== undefined && found) return { status: 200, xml: rulesXml(found) }
  if (method === 'PUT') {
    const added = addSubscription(namespace, topic, subscriptionName, body)
    return entry(added.queue.path, subscriptionXml(added))
  }
  return found ? entry(found.queue.path, subscriptionXml(found)) : NOTHING
}

const tag = (xml: string, name: string): string | null =>
  new RegExp(`<(?:\\w+:)?${name}(?: [^>]*)?>([^<]*)<`).exec(xml)?.[1] ?? null

/** Only what our own client writes: whole seconds. */
const msOf = (text: string | null): number => Number(/^PT(\d+)S$/.exec(text ?? '')?.[1]) * 1_000
const durationOf = (ms: number): string => `PT${ms / 1_000}S`

function addTopic(namespace: Namespace, name: string, xml: string): TopicEntity {
  const detects = tag(xml, 'RequiresDuplicateDetection') === 'true'
  return namespace.addTopic(name, {
    timeToLiveMs: msOf(tag(xml, 'DefaultMessageTimeToLive')),
    duplicateWindowMs: detects ? msOf(tag(xml, 'DuplicateDetectionHistoryTimeWindow')) : null,
  })
}

function addSubscription(
  namespace: Namespace,
  topic: TopicEntity,
  name: string,
  xml: string,
): SubscriptionEntity {
  const added = namespace.addSubscription(topic, name, {
    lockMs: msOf(tag(xml, 'LockDuration')),
    maxDeliveries: Number(tag(xml, 'MaxDeliveryCount')),
    timeToLiveMs: msOf(tag(xml, 'DefaultMessageTimeToLive')),
    isDeadLetteredOnExpiry: tag(xml, 'DeadLetteringOnMessageExpiration') === 'true',
  })
  const filter = filterIn(xml)
  if (filter) added.setRule('$Default', filter)
  return added
}

function filterIn(xml: string): RuleFilter | null {
  const pairs = xml.matchAll(/<(?:\w+:)?Key>([^<]*)<\/[^>]*Key>\s*<(?:\w+:)?Value[^>]*>([^<]*)</g)
  const properties = Object.fromEntries([...pairs].map(([, key, value]) => [key!, value!]))
  return Object.keys(properties).length > 0 ? { correlation: { properties } } : null
}

const NAMESPACE = 'http://schemas.microsoft.com/netservices/2010/10/servicebus/connect'

/** The client reads the names from the id. */
const entryXml = (path: string, content: string): string =>
  `<entry xmlns="http://www.w3.org/2005/Atom"><id>https://test.servicebus.windows.net/${path}?api-version=2021-05</id><title type="text">${path.split('/').at(-1)}</title><content type="application/xml">${content}</content></entry>`

const entry = (path: string, content: string): Answer => ({
  status: 200,
  xml: entryXml(path, content),
})

const fields = (values: Readonly<Record<string, unknown>>): string =>
  Object.entries(values)
    .map(([name, value]) => `<${name}>${value}</${name}>`)
    .join('')

function topicXml({ settings }: TopicEntity): string {
  const { duplicateWindowMs, timeToLiveMs } = settings
  const values = {
    DefaultMessageTimeToLive: durationOf(timeToLiveMs),
    MaxSizeInMegabytes: 1024,
    RequiresDuplicateDetection: duplicateWindowMs !== null,
    DuplicateDetectionHistoryTimeWindow: durationOf(duplicateWindowMs ?? 600_000),
    EnableBatchedOperations: true,
    Status: 'Active',
    SupportOrdering: false,
    EnablePartitioning: false,
    EntityAvailabilityStatus: 'Available',
    EnableExpress: false,
  }
  return `<TopicDescription xmlns="${NAMESPACE}">${fields(values)}</TopicDescription>`
}

function subscriptionXml({ queue: { settings } }: SubscriptionEntity): string {
  const values = {
    LockDuration: durationOf(settings.lockMs),
    RequiresSession: false,
    DefaultMessageTimeToLive: durationOf(settings.timeToLiveMs),
    DeadLetteringOnMessageExpiration: settings.isDeadLetteredOnExpiry,
    DeadLetteringOnFilterEvaluationExceptions: true,
    MaxDeliveryCount: settings.maxDeliveries,
    EnableBatchedOperations: true,
    Status: 'Active',
    AutoDeleteOnIdle: 'P10675199DT2H48M5.4775807S',
    EntityAvailabilityStatus: 'Available',
  }
  return `<SubscriptionDescription xmlns="${NAMESPACE}">${fields(values)}</SubscriptionDescription>`
}

const XSI = 'xmlns:i="http://www.w3.org/2001/XMLSchema-instance"'

function rulesXml({ rules, queue }: SubscriptionEntity): string {
  const entries = [...rules].map(([name, { filter }]) =>
    entryXml(
      `${queue.path}/Rules/${name}`,
      `<RuleDescription xmlns="${NAMESPACE}" ${XSI}>${filterXml(filter)}<Action i:type="EmptyRuleAction"></Action><Name>${name}</Name></RuleDescription>`,
    ),
  )
  return `<feed xmlns="http://www.w3.org/2005/Atom">${entries.join('')}</feed>`
}

function filterXml(filter: RuleFilter): string {
  if ('correlation' in filter) {
    const pairs = Object.entries(filter.correlation.properties ?? {}).map(
      ([key, value]) =>
        `<KeyValueOfstringanyType><Key>${key}</Key><Value i:type="d6p1:string" xmlns:d6p1="http://www.w3.org/2001/XMLSchema">${value}</Value></KeyValueOfstringanyType>`,
    )
    return `<Filter i:type="CorrelationFilter"><Properties>${pairs.join('')}</Properties></Filter>`
  }
  const sql = 'sql' in filter ? filter.sql : '1=1'
  return `<Filter i:type="TrueFilter"><SqlExpression>${sql}</SqlExpression><CompatibilityLevel>20</CompatibilityLevel></Filter>`
}
