// A worker process made to be killed: `node test/proof/kill/worker-process.ts '<its part as JSON>'`. Bus, client, vault
// and functions are the real ones.
import { randomUUID } from 'node:crypto'
import { realClock } from '../../../src/base/run/clock.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { openFolderVault } from '../../../src/worker/secrets/folder-vault.ts'
import { configFor, connect } from '../../m365/functions/setting.ts'

export interface Part {
  readonly databaseUrl: string
  readonly sandboxUrl: string
  readonly tenantId: string
  readonly workerId: string
  readonly vaultFolder: string
  readonly leaseMs: number
  readonly slots: number
}

async function run(part: Part): Promise<void> {
  const clock = realClock()
  const db = await openPostgres({ url: part.databaseUrl, poolSize: 3 })
  const bus = openPostgresBus({ db, clock, newToken: randomUUID, leaseMs: part.leaseMs })
  const secrets = await openFolderVault({ folder: part.vaultFolder, key: null })
  const worker = new Worker({
    workerId: part.workerId,
    version: '1',
    bus,
    clock,
    tenant: connect(configFor(part.sandboxUrl, part.tenantId), clock, secrets),
    functions: STANDARD_FUNCTIONS,
    maxParallelism: part.slots,
    onError: (error) => console.error(error),
  })
  worker.start()
}

if (import.meta.main) {
  // Exits with its parent.
  process.on('disconnect', () => process.exit(1))
  await run(JSON.parse(process.argv[2]!) as Part)
}
