// Random requests (random-requests.ts) to a real server: each gets a status that the document lists, never an internal error, and
// afterwards every invariant holds. `npm run fuzz -- api` does the same for as long as wanted.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ApiUnderTest, openApiUnderTest, ROUTES } from '../../api/under-test.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { seeded } from '../../kit/seeded.ts'
import { ask, fillWithBatches, randomRequests } from './random-requests.ts'

const SEEDS = [1, 2, 3]
const ROUNDS = 4

describe('random requests', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await fillWithBatches(api)
  })
  after(() => api.close())

  const succeededOnce = new Set<string>()

  for (const seed of SEEDS) {
    it(`all get a documented response (seed ${seed})`, async () => {
      const random = seeded(seed)
      for (let round = 0; round < ROUNDS; round++) {
        for (const request of randomRequests(random)) {
          const { succeeded, finding } = await ask(api, request)
          assert.equal(finding, null)
          if (succeeded) succeededOnce.add(succeeded)
        }
        await api.world.settle()
      }
      assert.deepEqual(await brokenInvariants(api.world.db, api.world.clock.now()), [])
    })
  }

  it('reach most operations with at least one success', () => {
    const never = ROUTES.filter(({ operation }) => !succeededOnce.has(operation))
    const names = never.map(({ operation }) => operation).join(', ')
    assert.ok(succeededOnce.size > ROUTES.length / 2, `never succeeded: ${names}`)
  })
})
