// The transports by name. Only this file names them outside their folders; a new one is a folder under src/bus, a row here and its
// name in the setting MATOOLKIT_TRANSPORT.
import type { Bus, TransportOptions } from '../bus/bus.ts'
import { openPostgresBus } from '../bus/postgres/postgres-bus.ts'
import type { Config, TransportName } from '../config.ts'

type Transports = Readonly<Record<TransportName, (options: TransportOptions) => Bus>>

const TRANSPORTS: Transports = {
  postgres: openPostgresBus,
}

export function openTransport(
  { transport }: Pick<Config, 'transport'>,
  options: TransportOptions,
  transports = TRANSPORTS,
): Bus {
  return transports[transport](options)
}
