// The API: random requests in a fresh system with a dozen batches. Every answer is a documented one, and every invariant holds.

import { openApiUnderTest } from '../../api/under-test.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { openRenewablePglite } from '../../kit/renewable-pglite.ts'
import { ask, fillWithBatches, randomRequests } from './random-requests.ts'
import type { FuzzTarget } from './target.ts'

const ROUNDS = 6

export async function openApiTarget(): Promise<FuzzTarget> {
  const db = await openRenewablePglite()
  return {
    attempt: async (random) => {
      await db.renew()
      const api = await openApiUnderTest({ database: { db, close: async () => {} } })
      try {
        await fillWithBatches(api)
        const findings: string[] = []
        for (let round = 0; round < ROUNDS; round++) {
          for (const request of randomRequests(random)) {
            const { finding } = await ask(api, request)
            if (finding !== null) findings.push(finding)
          }
          await api.world.settle()
        }
        return [...findings, ...(await brokenInvariants(db, api.world.clock.now()))]
      } finally {
        await api.close()
      }
    },
    close: () => db.close(),
  }
}
