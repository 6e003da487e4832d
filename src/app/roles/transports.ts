// The transports by name. Only this file names them outside their folders; a new one is a folder under src/bus, a row here and its
// name in the setting MATOOLKIT_TRANSPORT.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { TransportName } from '../../base/settings/bus.ts'
import type { Config } from '../../base/settings/config.ts'
import { azureCredential } from '../../base/sign-in/azure-credential.ts'
import { tokenEndpointsOf } from '../../base/sign-in/clouds.ts'
import { makeTokens } from '../../base/sign-in/token.ts'
import { inPascalCase } from '../../base/text/worker-id.ts'
import type { Bus } from '../../bus/bus.ts'
import { openPostgresBus } from '../../bus/postgres/postgres-bus.ts'
import type { BusCheck, BusCheckOptions } from '../../bus/servicebus/check.ts'
import type { ServiceBusAccess } from '../../bus/servicebus/connection.ts'
import type { Db } from '../../db/connection/db.ts'

export interface OpenTransportOptions {
  /** The state's database; null in a process that is only a worker and whose transport needs none. */
  readonly db: Db | null
  readonly clock: Clock
  /** A new UUID for every receive. */
  readonly newToken: () => string
  /** Tests of takeovers and the demonstration cannot wait for a minute. */
  readonly leaseMs?: number
}

type OpenTransport = (options: OpenTransportOptions, config: Config) => Bus | Promise<Bus>
type Transports = Readonly<Record<TransportName, OpenTransport>>

const TRANSPORTS: Transports = {
  postgres: ({ db, ...options }) => {
    if (db) return openPostgresBus({ ...options, db })
    throw new MatoolkitError('INTERNAL', { reason: 'the transport postgres needs a database' })
  },
  // Loaded only when it is chosen, like the SDK behind it.
  servicebus: async (options, config) => {
    const { openServiceBus } = await import('../../bus/servicebus/servicebus-bus.ts')
    const access = serviceBusAccess(config, options.clock)
    const pascalWorkers = new Set(inPascalCase(config.declaredWorkers))
    return openServiceBus({ ...options, access, pascalWorkers })
  },
}

export async function openTransport(
  config: Config | { readonly transport: 'postgres' },
  options: OpenTransportOptions,
  transports = TRANSPORTS,
): Promise<Bus> {
  return transports[config.transport](options, config as Config)
}

const SERVICEBUS_SCOPE = 'https://servicebus.azure.net/.default'

export function serviceBusAccess(config: Config, clock: Clock): ServiceBusAccess {
  const { serviceBusConnection, serviceBusNamespace: namespace, identityClientId } = config
  if (serviceBusConnection !== null) return { connectionString: serviceBusConnection }
  if (namespace === null) throw new MatoolkitError('BUS_NOT_CONFIGURED')
  const tokens = makeTokens(clock, tokenEndpointsOf(config))
  const request = { from: 'machine', clientId: identityClientId, scope: SERVICEBUS_SCOPE } as const
  const isOverWebSockets = config.serviceBusProtocol === 'websockets'
  return { namespace, credential: azureCredential(tokens, request, clock), isOverWebSockets }
}

/** Compares the namespace of the settings with what it must hold. */
export async function checkServiceBus(
  config: Config,
  clock: Clock,
  wanted: Pick<BusCheckOptions, 'workerIds' | 'mayCreate'>,
  emulatorUrl: string,
): Promise<BusCheck[]> {
  const access = serviceBusAccess(config, clock)
  const [{ openAdministration }, { checkNamespace }, { loadSdk, ServiceBusConnection }] =
    await Promise.all([
      import('../../bus/servicebus/administration.ts'),
      import('../../bus/servicebus/check.ts'),
      import('../../bus/servicebus/connection.ts'),
    ])
  const connection = new ServiceBusConnection(await loadSdk(), { access, clock })
  try {
    const administration = await openAdministration(access, emulatorUrl)
    return await checkNamespace({ ...wanted, administration, connection, clock })
  } finally {
    await connection.close()
  }
}
