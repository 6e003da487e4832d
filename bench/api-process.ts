// The API in its own process: `node --expose-gc bench/api-process.ts <database url> <token file>`. Sends its address to the parent
// and, on request, its memory after a collection.
import { randomUUID } from 'node:crypto'
import { openApi } from '../src/api/api.ts'
import { createLog } from '../src/base/log/log.ts'
import { realClock } from '../src/base/run/clock.ts'
import { openPostgresBus } from '../src/bus/postgres/postgres-bus.ts'
import { openPostgres } from '../src/db/connection/postgres.ts'
import { benchDoor } from './engine-process.ts'

export interface Memory {
  readonly heapMb: number
  readonly rssMb: number
}

const NO_LIMIT_PER_MIN = 1_000_000

if (import.meta.main) {
  const [databaseUrl, tokenFile] = process.argv.slice(2)
  const clock = realClock()
  const db = await openPostgres({ url: databaseUrl! })
  const api = openApi({
    config: {
      apiHost: '127.0.0.1',
      apiPort: 0,
      apiTokenFile: tokenFile!,
      apiReadsPerMin: NO_LIMIT_PER_MIN,
      apiTrustedHops: 0,
      apiCorsOrigins: [],
      apiPublicPath: '/',
      oidcIssuers: [],
      oidcAudiences: [],
      oidcClientId: null,
      oidcApps: [],
      readPolicy: 'reader',
      auditKeptDays: null,
      auditHeadsFile: null,
      evidenceKey: null,
      evidenceKeyFile: null,
      poolSize: 10,
    },
    engine: benchDoor(db),
    bus: openPostgresBus({ db, clock, newToken: randomUUID }),
    clock,
    log: createLog({ level: 'warn', format: 'json', clock, destination: process.stderr }),
  })
  api.start()
  process.send?.({ url: await api.listening })
  process.on('message', () => {
    globalThis.gc?.()
    const { heapUsed, rss } = process.memoryUsage()
    process.send?.({ heapMb: heapUsed / 2 ** 20, rssMb: rss / 2 ** 20 } satisfies Memory)
  })
  process.on('SIGTERM', async () => {
    await api.stop()
    await db.close()
    process.disconnect()
  })
}
