// What the dashboard polls, over HTTP: the wall and the grid of a batch.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { people } from '../../scenarios/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { plain } from './fixtures.ts'

export function wallContract(): void {
  describe('screens of a batch', () => {
    let api: ApiUnderTest
    before(async () => {
      api = await openApiUnderTest()
      await api.world.publish(plain())
      api.world.answer = ({ parameters }) =>
        /user[123]@/.test(String(parameters.Upn))
          ? { fail: `${parameters.Upn} is full` }
          : { ok: { id: 7 } }
      const members = people(5).map(({ key }) => ({ key, data: { Upn: key } }))
      await api.world.batch('plain', members, { startsInMin: 60 })
      await api.world.settle()
    })
    after(() => api.close())
    const get = <Body>(path: string) => api.call<Body>('GET', `/api/batches/1${path}`)

    it('are a wall that names nobody', async () => {
      interface Wall {
        headline: string
        needs: { kind: string; batchId: number; text: string; command: string }[]
        batches: {
          batch: { id: number; members: object }
          phases: { phaseName: string; status: string; membersFailed: number }[]
          steps: object
          throughput: { stepsPerMin: number }
          endsAt: string
          because: string
        }[]
        openReviews: object
        workers: { workerId: string }[]
      }
      const { status, body } = await api.call<Wall>('GET', '/api/now')
      assert.equal(status, 200)
      assert.equal(body.headline, 'Somebody is needed: 3 people of batch 1 failed.')
      assert.deepEqual(
        body.needs.map(({ kind, batchId, command }) => [kind, batchId, command]),
        [['failure', 1, 'matoolkit failures 1']],
      )
      const [only] = body.batches
      assert.deepEqual([body.batches.length, only!.batch.id], [1, 1])
      assert.deepEqual(
        only!.phases.map((phase) => [phase.phaseName, phase.status, phase.membersFailed]),
        [
          ['prepare', 'completed', 3],
          ['cutover', 'pending', 0],
        ],
      )
      assert.deepEqual(only!.steps, { total: 5, open: 0, passed: 2, failed: 3 })
      assert.deepEqual(
        [only!.throughput.stepsPerMin, only!.endsAt],
        [2, '2026-03-02T09:01:00.000Z'],
      )
      assert.deepEqual(
        body.workers.map(({ workerId }) => workerId),
        ['w1'],
      )
      assert.doesNotMatch(JSON.stringify(body), /user\d|contoso/)
    })

    it('are a grid of members by steps, in windows, for chosen people, and counted', async () => {
      interface Grid {
        total: number
        columns: { phaseName: string; stepName: string }[]
        rows: { memberId: number; memberKey: string; outcome: string; cells: string }[]
      }
      const { body } = await get<Grid>('/grid')
      assert.deepEqual(
        body.columns.map(({ phaseName, stepName }) => `${phaseName}/${stepName}`),
        ['prepare/create', 'cutover/switch'],
      )
      const shown = ({ rows }: Grid) => rows.map(({ outcome, cells }) => `${outcome} ${cells}`)
      const failed = 'failed f.'
      assert.deepEqual(
        [body.total, shown(body)],
        [5, [failed, failed, failed, 'in_progress s.', 'in_progress s.']],
      )
      const window = await get<Grid>('/grid?from=3&limit=1')
      assert.deepEqual(window.body.rows, [body.rows[3]])
      const { memberId } = body.rows[4]!
      assert.deepEqual((await get<Grid>(`/grid?ids=${memberId}`)).body.rows, [body.rows[4]])
      assert.deepEqual((await get<Grid>('/grid?from=5')).body.rows, [])
      await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches/1/grid?ids=1,x')
      await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/99/grid')
      await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/99/grid/overview')
      interface Overview {
        membersPerRow: number
        classes: string[]
        rows: number[][][]
      }
      const counted = (await get<Overview>('/grid/overview?rows=2')).body
      assert.deepEqual(
        [
          counted.membersPerRow,
          counted.classes.indexOf('passed'),
          counted.classes.indexOf('failed'),
        ],
        [3, 2, 3],
      )
      const nothing = [0, 0, 0, 0, 0]
      assert.deepEqual(counted.rows, [
        [[0, 0, 0, 3, 0], nothing],
        [[0, 0, 2, 0, 0], nothing],
      ])
      assert.doesNotMatch(JSON.stringify(counted), /user|contoso/)
    })
  })
}
