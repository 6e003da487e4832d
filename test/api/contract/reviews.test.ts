// Reviews over HTTP: removals, moves and latecomers are decided once, with a current etag; ticks and issues are listed.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  at,
  batchesOf,
  type Programme,
  range,
  row,
  startProgramme,
  wave,
} from '../../stories/programme.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'

interface Decided {
  groups: {
    kind: string
    batchId: number
    fromTime: string
    toTime: string
    people: number
    memberKeys: string[]
  }[]
  overdue: { phaseName: string; dueAt: string }[]
  startsAtOnce: { phases: Record<string, unknown>[]; steps: unknown[] }
}

interface Page {
  reviews: { id: number; kind: string; memberKey: string; fromTime: string; toTime: string }[]
  open: { removal: number; move: number; join: number }
  next: string | null
}

const reason = 'because'

describe('reviews', () => {
  let api: ApiUnderTest
  let world: Programme
  before(async () => {
    api = await openApiUnderTest()
    world = await startProgramme(api.world)
    await world.tick([...wave(40, ...range(1, 10)), row(90, 'no time')])
  })
  after(() => api.close())
  const list = (query = '') => api.call<Page>('GET', `/api/reviews${query}`)
  const idsOf = async (kind: string) =>
    (await list(`?kind=${kind}`)).body.reviews.map(({ id }) => id)
  const decide = (decision: string, reviewIds: readonly number[], more = {}) =>
    api.call('POST', '/api/reviews', { body: { decision, reviewIds, reason, ...more } })

  it('lists removals in pages, and approves or dismisses them after a dry run', async () => {
    await world.tick(wave(40, ...range(6, 10)))
    await world.tick()
    const first = await list('?limit=2&runbook=wave&batchId=1')
    assert.deepEqual([first.body.reviews.length, first.body.open.removal], [2, 5])
    const rest = await list(`?limit=10&cursor=${first.body.next}`)
    assert.equal(rest.body.reviews.length, 3)
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/reviews?cursor=x')
    const [one, two, ...others] = await idsOf('removal')
    const dry = await decide('approve', [one!, two!], { dryRun: true })
    assert.deepEqual([dry.body.isDryRun, dry.body.doneCount], [true, 2])
    assert.equal((await list()).body.open.removal, 5)
    assert.equal((await decide('approve', [one!, two!])).body.doneCount, 2)
    assert.equal((await decide('dismiss', others)).body.doneCount, 3)
    assert.equal((await list()).body.open.removal, 0)
    assert.equal((await list('?withDismissed=true')).body.reviews.length, 3)
  })

  it('decides the moves of a whole wave with one choice', async () => {
    await world.tick(wave(64, ...range(1, 10)))
    const moves = await idsOf('move')
    const to = await list(`?kind=move&toTime=${at(64)}`)
    assert.equal(to.body.reviews.length, moves.length)
    assert.equal((await list(`?toTime=${at(65)}`)).body.reviews.length, 0)
    const { body } = await api.call<{ needs: { kind: string; text: string; decide: string[] }[] }>(
      'GET',
      '/api/needs?batchId=1',
    )
    assert.deepEqual(
      body.needs
        .filter(({ kind }) => kind === 'review_waiting')
        .map(({ text, decide: commands }) => [text, commands]),
      [
        [
          `All 8 people of batch 1 now have cut-over ${at(64)} in the source, not ${at(40)}`,
          [
            'matoolkit review approve --all --kind move --batch 1 --choice reschedule',
            'matoolkit review approve --all --kind move --batch 1 --choice move',
            'matoolkit review dismiss --all --kind move --batch 1',
          ],
        ],
      ],
    )
    assert.ok(moves.length > 3)
    const dismissed = await decide('dismiss', moves, { dryRun: true })
    assert.equal(dismissed.body.doneCount, moves.length)
    await api.refused(409, 'REFUSED', 'POST', '/api/reviews', {
      body: { decision: 'approve', reviewIds: moves, reason },
    })
    const dry = await decide('approve', moves, { choice: 'reschedule', dryRun: true })
    const { groups, overdue, startsAtOnce } = dry.body as unknown as Decided
    assert.deepEqual(
      groups.map(({ kind, batchId, fromTime, toTime, people }) => [
        kind,
        batchId,
        fromTime,
        toTime,
        people,
      ]),
      [['move', 1, at(40), at(64), 8]],
    )
    assert.equal(groups[0]!.memberKeys.length, 5)
    assert.deepEqual([overdue, startsAtOnce], [[], { phases: [], steps: [] }])
    const moved = await decide('approve', moves, { choice: 'reschedule' })
    assert.equal(moved.body.doneCount, moves.length, moved.text)
  })

  it('admits latecomers', async () => {
    await world.tickUntil(66, 6)
    await world.tick(wave(64, ...range(1, 12)))
    const late = await idsOf('join')
    assert.ok(late.length >= 2)
    await world.publish(`
name: wave
data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When, time_zone: UTC }
phases: [{ name: cutover, offset: T-0, steps: [{ name: switch, worker_id: w1, function: switch }] }]
`)
    await world.batch('wave', [{ key: 'user12@contoso.example', data: {} }], { manual: true })
    await api.refused(409, 'MEMBER_ELSEWHERE', 'POST', '/api/reviews', {
      body: { decision: 'approve', reviewIds: late.slice(-1), reason },
    })
    assert.equal((await decide('approve', late.slice(0, 1))).body.doneCount, 1)
    assert.match((await batchesOf(world)).join(), /user11/)
  })

  it('decides only with a current etag', async () => {
    const [join] = await idsOf('join')
    for (const decision of ['approve', 'dismiss']) {
      const body = { decision, reason, reviewIds: [999] }
      await api.refused(409, 'REVIEW_CHANGED', 'POST', '/api/reviews', { body })
      await api.refused(400, 'REQUEST_INVALID', 'POST', '/api/reviews', {
        body: { ...body, reviewIds: [] },
      })
    }
    for (const fields of [{ kind: 'removal' }, { kind: 'move' }, { choice: 'move' }]) {
      await api.refused(409, 'REFUSED', 'POST', '/api/reviews', {
        body: { decision: 'approve', reviewIds: [join], reason, ...fields },
      })
    }
    await api.refused(400, 'REQUEST_INVALID', 'POST', '/api/reviews', {
      body: { decision: 'approve', reviewIds: [join], reason, choice: 'keep' },
    })
  })

  it('lists ticks and their unusable rows in pages', async () => {
    interface Ticks {
      ticks: { id: number; outcome: string }[]
      issues: { kind: string; memberKey: string | null; reason: string }[]
      next: string | null
    }
    const path = '/api/runbooks/WAVE'
    const first = await api.call<Ticks>('GET', `${path}/ticks?limit=1`)
    const second = await api.call<Ticks>('GET', `${path}/ticks?limit=1&cursor=${first.body.next}`)
    assert.ok(second.body.ticks[0]!.id < first.body.ticks[0]!.id)
    await world.tick([...wave(64, ...range(1, 12)), row(90, 'no time'), row(91, '')])
    const issues = await api.call<Ticks>('GET', `${path}/issues?limit=1`)
    assert.equal(issues.body.issues.length, 1)
    assert.notEqual(issues.body.next, null)
    interface Sources {
      sources: {
        runbookName: string
        type: string
        isAutomated: boolean
        nextTickAt: string | null
        lastTick: { outcome: string; startedAt: string; rowCount: number } | null
        issueCount: number
        openReviews: number
      }[]
      total: number
      next: string | null
    }
    const { body } = await api.call<Sources>('GET', '/api/sources?limit=1')
    const [listed] = body.sources
    assert.deepEqual([body.total, body.next, listed!.runbookName], [1, null, 'wave'])
    assert.deepEqual([listed!.isAutomated, listed!.lastTick!.outcome], [true, 'good'])
    assert.deepEqual([listed!.lastTick!.rowCount, listed!.issueCount], [14, 3])
    const open = (await api.call<{ open: Record<string, number> }>('GET', '/api/reviews')).body.open
    assert.equal(
      listed!.openReviews,
      Object.values(open).reduce((sum, count) => sum + count, 0),
    )
    assert.ok(listed!.nextTickAt! > listed!.lastTick!.startedAt)
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/sources?cursor=x')
    for (const part of ['ticks', 'issues']) {
      await api.refused(404, 'RUNBOOK_NOT_FOUND', 'GET', `/api/runbooks/none/${part}`)
      await api.refused(400, 'CURSOR_INVALID', 'GET', `${path}/${part}?cursor=x`)
    }
  })
})

it('names what a date in the past would start, and refuses it unless allowed', async () => {
  const api = await openApiUnderTest()
  try {
    const world = await startProgramme(api.world)
    await world.tick(wave(40, 1, 2))
    await world.tick(wave(-4, 1, 2))
    const { body } = await api.call<Page>('GET', '/api/reviews')
    assert.deepEqual(
      body.reviews.map(({ fromTime, toTime }) => [fromTime, toTime]),
      [
        [at(40), at(-4)],
        [at(40), at(-4)],
      ],
    )
    const order = {
      decision: 'approve',
      reviewIds: body.reviews.map(({ id }) => id),
      reason,
      choice: 'reschedule',
    }
    const path = '/api/reviews'
    const refused = await api.refused(409, 'WOULD_BE_OVERDUE', 'POST', path, { body: order })
    assert.match(refused.body.detail, /start at once: prepare, cutover/)
    const dry = await api.call<Decided>('POST', path, { body: { ...order, dryRun: true } })
    const { overdue, startsAtOnce } = dry.body
    assert.deepEqual(
      overdue.map(({ phaseName }) => phaseName),
      ['prepare', 'cutover'],
    )
    assert.deepEqual(startsAtOnce.phases[1], {
      batchId: 1,
      phaseName: 'cutover',
      dueAt: at(-4),
      isOverdue: true,
      people: 2,
      stepNames: ['switch'],
      waitsFor: null,
    })
    await world.settle()
    assert.equal(world.jobs.length, 0)
  } finally {
    await api.close()
  }
})

it('refuses a latecomer whose batch is cancelled', async () => {
  const api = await openApiUnderTest()
  try {
    const world = await startProgramme(api.world)
    await world.tick(wave(1, 1))
    await world.tickUntil(3)
    await world.tick(wave(1, 1, 2))
    await world.db.query(`update batches set status = 'cancelled'`)
    const { body } = await api.call<Page>('GET', '/api/reviews?kind=join')
    await api.refused(409, 'REFUSED', 'POST', '/api/reviews', {
      body: { decision: 'approve', reviewIds: [body.reviews[0]!.id], reason },
    })
  } finally {
    await api.close()
  }
})

covers('decideReviews', 'listReviews', 'listSourceIssues', 'listSources', 'listTicks')
