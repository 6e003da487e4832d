// A namespace as `matoolkit doctor bus --create` makes it, in the tests' broker, and how to reach it.
import {
  DEFAULT_RULE,
  subscriptionEntities,
  TOPIC_ENTITIES,
} from '../../src/bus/servicebus/entities.ts'
import { Broker, type BrokerOptions } from './broker/broker.ts'

export interface TestNamespace {
  readonly broker: Broker
  readonly connectionString: string
}

export async function openNamespace(
  options: BrokerOptions,
  workerIds: readonly string[],
): Promise<TestNamespace> {
  const broker = new Broker(options)
  const { namespace } = broker
  for (const { name, ...settings } of TOPIC_ENTITIES) namespace.addTopic(name, settings)
  for (const { topic, name, filter, ...settings } of subscriptionEntities(workerIds)) {
    const subscription = namespace.addSubscription(namespace.topic(topic)!, name, settings)
    if (filter) subscription.setRule(DEFAULT_RULE, { correlation: { properties: filter } })
  }
  return { broker, connectionString: connectionStringOf(await broker.open()) }
}

export const connectionStringOf = (port: number): string =>
  `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=test;SharedAccessKey=test;UseDevelopmentEmulator=true;`
