// The forecast over HTTP: the figures of the summary in full, and a phase that will be late.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { tellMisses } from '../../../src/orchestrator/forecast-misses.ts'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { plain } from './fixtures.ts'

interface Summary {
  throughput: { stepsPerMin: number }
  estimate: {
    phases: {
      phaseName: string
      startsAt: string | null
      endsAt: string | null
      p90: string | null
      source: string | null
      miss: { deadlineOf: string; bySec: number; since: string | null; text: string } | null
    }[]
  }
}

describe('the forecast of a batch', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    const { world } = api
    await world.publish(plain())
    const members = people(40)
    await world.batch('plain', members, { startsInMin: 20 })
    await world.orchestrate()
    await world.clock.advance(600_000)
    await world.work(10)
    await world.orchestrate()
  })
  after(() => api.close())
  const get = <Body>(path: string) => api.call<Body>('GET', `/api/batches/1${path}`)

  it('is in the summary, phase by phase', async () => {
    const { estimate, throughput } = (await get<Summary>('/summary')).body
    assert.equal(throughput.stepsPerMin, 1)
    assert.deepEqual(
      estimate.phases.map(({ phaseName, startsAt, endsAt, p90, source }) => [
        phaseName,
        startsAt,
        endsAt,
        p90,
        source,
      ]),
      [
        ['prepare', null, '2026-03-02T08:50:00.000Z', '2026-03-02T10:20:00.000Z', 'pace'],
        [
          'cutover',
          '2026-03-02T08:50:00.000Z',
          '2026-03-02T09:30:00.000Z',
          '2026-03-02T11:40:00.000Z',
          'other_phases',
        ],
      ],
    )
  })

  it('says that a phase will miss T-0, on the wall and in the status too, without a name', async () => {
    const missIn = async () => (await get<Summary>('/summary')).body.estimate.phases[0]!.miss
    const late =
      'phase prepare will miss T-0 (2026-03-02T08:20:00.000Z) by 30m: 30 steps left at 1 step a minute, the pace of the last 10m, and 10m for the last members'
    const miss = { deadline: '2026-03-02T08:20:00.000Z', deadlineOf: 'T-0', bySec: 1_800 }
    assert.deepEqual(await missIn(), { ...miss, since: null, text: late })
    assert.equal(await tellMisses(api.world.engine), 1)
    const since = '2026-03-02T08:10:00.000Z'
    assert.deepEqual(await missIn(), { ...miss, since, text: late })
    interface Wall {
      needs: { kind: string; text: string; command: string }[]
      batches?: { misses: { text: string }[] }[]
    }
    const need = {
      kind: 'forecast_miss',
      batchId: 1,
      text: `Batch 1: ${late}`,
      count: 1,
      command: 'matoolkit batch get 1 --forecast',
    }
    const wall = (await api.call<Wall>('GET', '/api/now')).body
    const told = wall.needs.find(({ kind }) => kind === 'forecast_miss')
    assert.partialDeepStrictEqual(told, need)
    assert.deepEqual(
      wall.batches![0]!.misses.map(({ text }) => text),
      [late],
    )
    assert.doesNotMatch(JSON.stringify(wall), /user\d|contoso/)
    const status = (await api.call<Wall>('GET', '/api/status')).body
    assert.deepEqual(
      status.needs.filter(({ kind }) => kind === 'forecast_miss'),
      [{ ...told, causes: [] }],
    )
  })
})
