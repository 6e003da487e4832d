// What the dashboard polls, over HTTP: the wall and the grid of a batch.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain } from './fixtures.ts'

describe('screens of a batch', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(plain())
    api.world.answer = ({ parameters }) =>
      /user[123]@/.test(String(parameters.UserPrincipalName))
        ? { fail: `${parameters.UserPrincipalName} is full` }
        : { ok: { id: 7 } }
    const members = people(5)
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
    assert.equal(body.headline, 'Action needed: 3 people of batch 1 failed.')
    assert.deepEqual(
      body.needs.map(({ kind, batchId, command }) => [kind, batchId, command]),
      [['people_failed', 1, 'matoolkit failures 1']],
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
    assert.deepEqual([only!.throughput.stepsPerMin, only!.endsAt], [2, '2026-03-02T09:01:00.000Z'])
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
      rows: { memberId: number; memberKey: string; state: string; cells: string }[]
    }
    const { body } = await get<Grid>('/grid')
    assert.deepEqual(
      body.columns.map(({ phaseName, stepName }) => `${phaseName}/${stepName}`),
      ['prepare/create', 'cutover/switch'],
    )
    const shown = ({ rows }: Grid) => rows.map(({ state, cells }) => `${state} ${cells}`)
    const failed = 'failed f.'
    assert.deepEqual(
      [body.total, shown(body)],
      [5, [failed, failed, failed, 'preparing s.', 'preparing s.']],
    )
    const part = await get<Grid>('/grid?from=3&limit=1')
    assert.deepEqual(part.body.rows, [body.rows[3]])
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
      [counted.membersPerRow, counted.classes.indexOf('passed'), counted.classes.indexOf('failed')],
      [3, 2, 3],
    )
    const nothing = [0, 0, 0, 0, 0]
    assert.deepEqual(counted.rows, [
      [[0, 0, 0, 3, 0], nothing],
      [[0, 0, 2, 0, 0], nothing],
    ])
    assert.doesNotMatch(JSON.stringify(counted), /user|contoso/)
  })

  it('are files of every list', async () => {
    const ask = (path: string, token: string) =>
      fetch(`${api.url}${path}`, {
        headers: { accept: 'text/csv', authorization: `Bearer ${token}` },
      })
    const path = '/api/batches/1/members?status=failed&limit=1'
    const answer = await ask(path, api.token)
    assert.deepEqual(
      [answer.status, answer.headers.get('content-type')],
      [200, 'text/csv; charset=utf-8'],
    )
    const [header, ...lines] = (await answer.text()).trimEnd().split('\r\n')
    assert.match(header!, /^id,memberKey,status,.*failure\.stepName/)
    assert.equal(lines.length, 3, 'all of them, whatever the limit')
    assert.equal((await ask(path, 'wrong')).status, 401)
    assert.equal((await ask('/api/batches/99/members', api.token)).status, 404)
  })

  it('tell a person where they stand and what comes next', async () => {
    interface Story {
      state: string
      where: string
      next: { phaseName: string; stepName: string; at: string | null }[]
    }
    const { rows } = (await get<{ rows: { memberId: number }[] }>('/grid')).body
    const through = (await get<Story>(`/members/${rows[4]!.memberId}`)).body
    assert.deepEqual(
      [through.state, through.where],
      ['preparing', 'waits for phase cutover at 2026-03-02T09:00:00.000Z'],
    )
    const at = '2026-03-02T09:00:00.000Z'
    assert.deepEqual(through.next, [
      { phaseName: 'cutover', stepName: 'switch', at, isPointOfNoReturn: false },
    ])
    const failed = (await get<Story>(`/members/${rows[0]!.memberId}`)).body
    assert.deepEqual([failed.state, failed.next], ['failed', []])
  })

  it('group failures over batches, and a group is a selection', async () => {
    const members = ['user1@contoso.example', 'user9@contoso.example', 'full@contoso.example']
    const answer = api.world.answer
    api.world.answer = ({ parameters }) => {
      const upn = String(parameters.UserPrincipalName)
      if (upn.startsWith('full')) return { fail: 'no licence is left' }
      return { fail: `${upn} is full` }
    }
    await api.world.batch(
      'plain',
      members.map((key) => ({ key, data: { UserPrincipalName: key } })),
      { startsInMin: 120 },
    )
    await api.world.settle()
    api.world.answer = answer
    interface Failures {
      isComplete: boolean
      groups: {
        pattern: string
        count: number
        batches: { batchId: number; count: number }[]
        perHour: { count: number }[]
        sample: { batchId: number }
      }[]
    }
    const { body } = await api.call<Failures>('GET', '/api/failures')
    assert.equal(body.isComplete, true)
    const shown = body.groups.map(({ pattern, count, batches, perHour }) => ({
      pattern,
      count,
      batches: batches.map(({ batchId, count: many }) => [batchId, many]),
      perHour: perHour.map((hour) => hour.count),
    }))
    const full = '<address> is full (TestError)'
    assert.deepEqual(shown, [
      {
        pattern: full,
        count: 5,
        batches: [
          [2, 2],
          [1, 3],
        ],
        perHour: [5],
      },
      { pattern: 'no licence is left (TestError)', count: 1, batches: [[2, 1]], perHour: [1] },
    ])
    assert.deepEqual(
      (await api.call<Failures>('GET', '/api/failures?runbook=wave')).body.groups,
      [],
    )
    const retry = (select: object) =>
      api.call<{ done: { memberKey: string }[] }>('POST', '/api/batches/2/members/retry', {
        body: { select, reason: 'more room', dryRun: true },
      })
    const { done } = (await retry({ pattern: full, failedStep: 'create' })).body
    assert.deepEqual(done.map(({ memberKey }) => memberKey).toSorted(), members.slice(0, 2))
    assert.deepEqual((await retry({ pattern: full, failedStep: 'switch' })).body.done, [])
    assert.deepEqual((await retry({ pattern: 'something else' })).body.done, [])
    await listsOfPattern(api, full, members.slice(0, 2))
    const both = { select: { pattern: full, keys: ['a'] }, reason: 'x' }
    await api.refused(400, 'REQUEST_INVALID', 'POST', '/api/batches/2/members/retry', {
      body: both,
    })
  })
})

/** The list of members has the same people as the selection. */
async function listsOfPattern(api: ApiUnderTest, pattern: string, keys: readonly string[]) {
  const listed = async (query: string) => {
    const path = `/api/batches/2/members?pattern=${encodeURIComponent(pattern)}${query}`
    const { body } = await api.call<{ total: number; members: { memberKey: string }[] }>(
      'GET',
      path,
    )
    return [body.total, ...body.members.map(({ memberKey }) => memberKey).toSorted()]
  }
  assert.deepEqual(await listed(''), [2, ...keys])
  assert.deepEqual(await listed('&failedStep=create&error=full'), [2, ...keys])
  assert.deepEqual(await listed('&failedStep=switch'), [0])
  assert.deepEqual(await listed('&search=nobody'), [0])
}

covers('getGrid', 'getGridOverview', 'getNow', 'listFailures')
