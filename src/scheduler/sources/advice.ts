// What to check when a source fails, by its type: a person with a CSV file needs no advice about connections.

import { CONNECTION_PREFIXES } from '../../base/text/reserved-names.ts'
import type { DataSource } from '../../domain/runbook/model.ts'

/** Each completes a sentence of the error table. */
export interface SourceAdvice {
  /** "Set …": what configures the source. */
  readonly wanted: string
  /** "Check …": why it may not be reached. */
  readonly reach: string
  /** "Check …": why it may refuse the sign-in. */
  readonly signIn: string
}

const variable = (example: string): string =>
  `an environment variable whose name starts with ${CONNECTION_PREFIXES.join(', ')} where the scheduler runs, such as ${example}`

export const SOURCE_ADVICE: Readonly<Record<DataSource['type'], SourceAdvice>> = {
  csv: {
    wanted: 'MATOOLKIT_SOURCE_FOLDER to the folder of the files, or start "matoolkit up" in it',
    reach: 'that the folder of the files is there',
    signIn: 'the permissions of the folder',
  },
  postgres: {
    wanted: variable('postgres://user:password@host:5432/database'),
    reach: 'host and port in its connection, and the network from the scheduler',
    signIn: 'user and password in its connection, and the rights of that user',
  },
  sqlserver: {
    wanted: variable('Server=host,1433;Database=…;User ID=…;Password=…'),
    reach: 'Server and port (1433) in its connection, and the firewall of the server',
    signIn: 'User ID and Password in its connection, and the rights of that login',
  },
  dataverse: {
    wanted: variable('Server=org.crm4.dynamics.com'),
    reach:
      'Server in its connection, that the TDS endpoint of the environment is on, and that port 1433 is open',
    signIn:
      'the identity in its connection: it must be an application user of the environment, with a security role',
  },
  databricks: {
    wanted: variable('https://adb-….azuredatabricks.net'),
    reach: 'the workspace address in its connection, and the network from the scheduler',
    signIn:
      'the identity or token in its connection: it must be a user of the workspace with access to the warehouse',
  },
}
