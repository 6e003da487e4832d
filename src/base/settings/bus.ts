// Settings of the messages between processes: transport and signed jobs. Part of the table in config.ts.
import { aHost, aKey, aPath, emulatorConnection, listSetting, oneOf, setting } from './kinds.ts'

const TRANSPORT_NAMES = ['postgres', 'servicebus'] as const
export type TransportName = (typeof TRANSPORT_NAMES)[number]

export const BUS_SETTINGS = {
  transport: setting<TransportName>('MATOOLKIT_TRANSPORT', oneOf(TRANSPORT_NAMES), {
    default: 'postgres',
    description:
      'The transport of the messages, the same in every process. `postgres`: the database itself; `servicebus`: Azure Service Bus.',
  }),
  serviceBusNamespace: setting<string | null>(
    'MATOOLKIT_SERVICEBUS_NAMESPACE',
    aHost('contoso.servicebus.windows.net'),
    {
      default: null,
      defaultShown: 'none',
      description: 'Host of the Service Bus namespace. Signed in by the managed identity.',
    },
  ),
  serviceBusProtocol: setting('MATOOLKIT_SERVICEBUS_PROTOCOL', oneOf(['amqp', 'websockets']), {
    default: 'amqp',
    description:
      'How the namespace is reached. `amqp`: port 5671; `websockets`: port 443, through the proxy of HTTPS_PROXY if there is one.',
  }),
  serviceBusConnection: setting<string | null>(
    'MATOOLKIT_SERVICEBUS_CONNECTION',
    emulatorConnection,
    {
      default: null,
      defaultShown: 'none',
      description:
        'Connection string of the Service Bus emulator, instead of a namespace. For development and tests.',
      secret: true,
    },
  ),
  jobKeyFile: setting<string | null>('MATOOLKIT_JOB_KEY_FILE', aPath, {
    default: null,
    defaultShown: 'none: jobs are not signed; `up` creates a key',
    description:
      'File with the keys that sign jobs, 32 bytes in base64 each, one per line. The first signs, all are accepted. The same in every process; see docs/security.md.',
  }),
  jobKeys: setting(
    'MATOOLKIT_JOB_KEY',
    listSetting(aKey, 'a list of keys, 32 bytes in base64 each'),
    {
      default: [] as readonly string[],
      defaultShown: 'none',
      description: 'The same keys in the environment; they come before those of the file.',
      secret: true,
    },
  ),
}
