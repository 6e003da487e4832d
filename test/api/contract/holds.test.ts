// Holds of every scope over HTTP: hold at once, give the reason later, resume, list what is held.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain } from './fixtures.ts'

interface Held {
  hold: { scope: string; target: string; reason: string; heldBy: string; endsWith: string }
  withdrawnJobs: number
  runningJobs: number
}
interface Resumed {
  isDryRun: boolean
  starts: { batches: number; phases: number; steps: number }
  startsAtOnce: { phases: object[]; steps: { batchId: number; people: number }[] }
}
interface HeldMembers {
  isDryRun: boolean
  selectedCount: number
  doneCount: number
  refusedCount: number
  refused: { memberId: number; reason: string }[]
  withdrawnJobs: number
  runningJobs: number
  startingSteps: number
}
interface Members {
  total: number
  members: { id: number; where: string; held: { by: string; reason: string } | null }[]
}
interface Holds {
  total: number
  holds: Held['hold'][]
  next: string | null
}

const reason = 'mail loops'
const members = (count: number) =>
  people(count).map(({ key }) => ({
    key,
    data: { UserPrincipalName: key, Action: 'Switch', Site: 's' },
  }))

const cursorOf = (value: string | null): string =>
  Buffer.from(JSON.stringify(['widest', value, 0])).toString('base64url')

const MEMBER = { scope: 'member', target: '1', batchId: 1 } as const
const BATCH = { scope: 'batch', target: '1' } as const
const WAYS = [
  ['POST', '/api/holds'],
  ['PUT', '/api/holds'],
  ['POST', '/api/holds/resume'],
] as const

const SCOPES = [
  { on: { scope: 'system' }, unknown: null, command: 'resume --all', withdrawn: 2 },
  {
    on: { scope: 'runbook', target: 'Plain' },
    unknown: ['nobody', 'RUNBOOK_UNKNOWN'],
    command: 'resume --runbook plain',
    withdrawn: 2,
  },
  {
    on: { scope: 'worker', target: 'w1' },
    unknown: ['nobody', 'WORKER_NOT_FOUND'],
    command: 'resume --worker w1',
    withdrawn: 2,
  },
  {
    on: MEMBER,
    unknown: ['99', 'MEMBER_NOT_FOUND'],
    command: 'resume --member 1 user1@contoso.example',
    withdrawn: 1,
  },
] as const

scopeHolds()
selectionHolds()

function selectionHolds(): void {
  describe('holds of a selection of members', () => {
    let api: ApiUnderTest
    before(async () => {
      api = await openApiUnderTest()
      await api.world.publish(plain())
      await api.world.batch('plain', members(4), { startsInMin: 30 })
      await api.world.orchestrate()
    })
    after(() => api.close())
    const act = (verb: string, body: object) =>
      api.call<HeldMembers>('POST', `/api/batches/1/members/${verb}`, { body })
    const heldIds = async () =>
      (await api.call<Members>('GET', '/api/batches/1/members?held=true')).body.members.map(
        ({ id }) => id,
      )

    it('are tried in a dry run, set at once without a reason, and shown everywhere', async () => {
      const select = { ids: [1, 3] }
      const dry = await act('hold', { select, dryRun: true })
      assert.equal(dry.status, 200, dry.text)
      assert.deepEqual([dry.body.isDryRun, dry.body.doneCount], [true, 2])
      assert.deepEqual(await heldIds(), [])
      const { body } = await act('hold', { select })
      assert.deepEqual([body.doneCount, body.withdrawnJobs, body.runningJobs], [2, 2, 0])
      assert.deepEqual(await heldIds(), [1, 3])
      const { members: rows } = (await api.call<Members>('GET', '/api/batches/1/members')).body
      assert.deepEqual(
        rows.map(({ held }) => held?.reason ?? null),
        ['no reason given yet', null, 'no reason given yet', null],
      )
      assert.match(rows[0]!.where, /^held by .*: no reason given yet$/)
      const { body: grid } = await api.call<{ rows: { isHeld: boolean }[] }>(
        'GET',
        '/api/batches/1/grid',
      )
      assert.deepEqual(
        grid.rows.map(({ isHeld }) => isHeld),
        [true, false, true, false],
      )
      const { body: one } = await api.call<Members['members'][number]>(
        'GET',
        '/api/batches/1/members/1',
      )
      assert.equal(one.held!.reason, 'no reason given yet')
      const { body: wall } = await api.call<{ batches: { batch: { heldMemberCount: number } }[] }>(
        'GET',
        '/api/now',
      )
      assert.equal(wall.batches[0]!.batch.heldMemberCount, 2)
      assert.equal((await list()).total, 2)
    })
    const list = async () => (await api.call<Holds>('GET', '/api/holds')).body

    it('refuse members who are held already, and leave out what a filter does not cover', async () => {
      const again = await act('hold', { select: { ids: [1, 2] }, reason, allOrNothing: true })
      assert.deepEqual([again.body.doneCount, again.body.refusedCount], [0, 1])
      assert.match(again.body.refused[0]!.reason, /user1@.* is already held by/)
      assert.deepEqual(await heldIds(), [1, 3])
      const others = await act('hold', { select: { all: true }, reason, dryRun: true })
      assert.equal(others.body.selectedCount, 2)
      const byFilter = await act('hold', {
        select: { state: ['preparing', 'scheduled'], search: 'USER2' },
        reason,
        dryRun: true,
      })
      assert.equal(byFilter.body.selectedCount, 1)
      const onHold = { select: { held: true }, reason, dryRun: true }
      assert.equal((await act('resume', onHold)).body.selectedCount, 2)
      assert.equal((await act('remove', onHold)).body.selectedCount, 2)
      // Nobody on hold can be put on hold, and the filter must not turn into its opposite.
      assert.equal((await act('hold', onHold)).body.selectedCount, 0)
    })

    it('end for all held members, who then get their jobs, and nobody else', async () => {
      await api.world.settle()
      const before = api.world.jobs.length
      const dry = await act('resume', { select: { all: true }, reason, dryRun: true })
      assert.deepEqual([dry.body.selectedCount, dry.body.startingSteps], [2, 2])
      await api.world.settle()
      assert.equal(api.world.jobs.length, before)
      const done = await act('resume', { select: { all: true }, reason, expectedCount: 2 })
      assert.deepEqual([done.body.doneCount, done.body.startingSteps], [2, 2])
      await api.world.settle()
      const sent = api.world.jobs
        .slice(before)
        .map(({ parameters }) => parameters.UserPrincipalName)
      assert.deepEqual([...new Set(sent)].sort(), [
        'user1@contoso.example',
        'user3@contoso.example',
      ])
      assert.deepEqual(await heldIds(), [])
      const { body } = await api.call<{ entries: { action: string }[] }>('GET', '/api/audit')
      const actions = body.entries.map(({ action }) => action)
      assert.deepEqual(actions.slice(0, 2), ['members.resume', 'members.resume begun'])
    })

    it('refuse an unknown batch or member, a changed selection and too many', async () => {
      for (const verb of ['hold', 'resume']) {
        const path = `/api/batches/1/members/${verb}`
        const select = { all: true }
        await api.refused(404, 'BATCH_NOT_FOUND', 'POST', path.replace('1', '99'), {
          body: { select, reason },
        })
        await api.refused(404, 'MEMBER_NOT_FOUND', 'POST', path, {
          body: { select: { ids: [99] }, reason },
        })
        await api.refused(409, 'SELECTION_CHANGED', 'POST', path, {
          body: { select, reason, expectedCount: 9 },
        })
        await api.refused(412, 'STATE_CHANGED', 'POST', path, {
          body: { select, reason },
          headers: { 'if-match': '"other"' },
        })
      }
      await api.world.db.query(
        `insert into holds (scope, target, batch_id, member_id, held_at, held_by, held_reason)
         select 'member', id::text, 1, id, $1, 'x', 'x' from generate_series(1001, 11000) as m (id)`,
        [api.world.clock.now()],
      )
      const tooMany = { body: { select: { ids: [1] }, reason } }
      await api.refused(409, 'REFUSED', 'POST', '/api/batches/1/members/hold', tooMany)
    })
  })
}

function scopeHolds(): void {
  describe('holds', () => {
    let api: ApiUnderTest
    before(async () => {
      api = await openApiUnderTest()
      await api.world.publish(plain())
      await api.world.batch('plain', members(2), { startsInMin: 30 })
      await api.world.orchestrate()
    })
    after(() => api.close())
    const jobsOut = async () =>
      (await api.world.db.query(`select from waits where kind = 'job'`)).length
    const list = async () => (await api.call<Holds>('GET', '/api/holds')).body

    for (const { on, unknown, command, withdrawn } of SCOPES) {
      const { scope } = on
      it(`of the ${scope}: hold without a reason, give it, resume after a dry run`, async () => {
        const held = await api.call<Held>('POST', '/api/holds', { body: on })
        assert.equal(held.status, 200, held.text)
        assert.deepEqual([held.body.withdrawnJobs, held.body.runningJobs], [withdrawn, 0])
        assert.equal(held.body.hold.reason, 'no reason given yet')
        await api.world.orchestrate()
        assert.equal(await jobsOut(), 2 - withdrawn)
        await api.refused(409, 'REFUSED', 'POST', '/api/holds', { body: { ...on, reason } })
        const given = await api.call<Held>('PUT', '/api/holds', { body: { ...on, reason } })
        assert.equal(given.body.hold.reason, reason)
        const { holds, total } = await list()
        assert.deepEqual([total, holds[0]!.scope, holds[0]!.reason], [1, scope, reason])
        assert.equal(holds[0]!.endsWith, `matoolkit ${command}`)
        const order = { body: { ...on, reason: 'fixed', dryRun: true } }
        const dry = await api.call<Resumed>('POST', '/api/holds/resume', order)
        assert.deepEqual(dry.body.starts, { batches: 1, phases: 0, steps: withdrawn })
        const { phases, steps } = dry.body.startsAtOnce
        assert.deepEqual(phases, [])
        assert.deepEqual(
          steps.map(({ batchId, people }) => [batchId, people]),
          [[1, withdrawn]],
        )
        assert.deepEqual([dry.body.isDryRun, (await list()).total], [true, 1])
        const done = await api.call<Resumed>('POST', '/api/holds/resume', {
          body: { ...on, reason },
        })
        assert.deepEqual(done.body.starts, dry.body.starts)
        assert.deepEqual(done.body.startsAtOnce, dry.body.startsAtOnce)
        assert.equal((await list()).total, 0)
        await api.refused(409, 'REFUSED', 'POST', '/api/holds/resume', { body: { ...on, reason } })
        await api.refused(409, 'REFUSED', 'PUT', '/api/holds', { body: { ...on, reason } })
        const { body } = await api.call<{ entries: { action: string }[] }>('GET', '/api/audit')
        assert.deepEqual(
          body.entries.slice(0, 5).map(({ action }) => action),
          ['hold.end', 'hold.reason', 'hold.set begun', 'hold.set', 'hold.set begun'],
        )
        await api.world.orchestrate()
      })
      if (unknown === null) continue
      it(`refuses an unknown ${scope}`, async () => {
        const [target, code] = unknown
        for (const [method, path] of WAYS)
          await api.refused(404, code, method, path, { body: { ...on, target, reason } })
      })
    }

    it('refuses a member of an unknown batch', async () => {
      for (const [method, path] of WAYS)
        for (const wrong of [
          { batchId: 99 },
          { batchId: undefined },
          { scope: 'batch', target: 'x' },
        ])
          await api.refused(404, 'BATCH_NOT_FOUND', method, path, {
            body: { ...MEMBER, ...wrong, reason },
          })
    })

    it('of a batch: says what it stopped, takes the reason later, and is in the list', async () => {
      const held = await api.call<Held>('POST', '/api/holds', { body: BATCH })
      assert.deepEqual([held.body.withdrawnJobs, held.body.runningJobs], [2, 0])
      const wrong = { body: { ...BATCH, reason }, headers: { 'if-match': '"other"' } }
      await api.refused(412, 'STATE_CHANGED', 'POST', '/api/holds/resume', wrong)
      await api.call('PUT', '/api/holds', { body: { scope: 'batch', target: '1', reason } })
      const { holds } = await list()
      assert.deepEqual(
        [holds[0]!.scope, holds[0]!.target, holds[0]!.reason],
        ['batch', '1', reason],
      )
      await api.call('POST', '/api/holds', { body: { scope: 'system', reason } })
      const both = await list()
      assert.deepEqual(
        both.holds.map(({ scope }) => scope),
        ['system', 'batch'],
      )
      const onlySystem = await api.call<Holds>('GET', '/api/holds?scope=system')
      assert.equal(onlySystem.body.total, 1)
      const stuck = await api.call<{ stuck: { items: { kind: string; because: string }[] } }>(
        'GET',
        '/api/needs?batchId=1',
      )
      assert.match(
        stuck.body.stuck.items[0]!.because,
        /the whole system is held by .*"matoolkit resume --all"/,
      )
      assert.match(
        stuck.body.stuck.items[1]!.because,
        /batch 1 is held by .*"matoolkit resume --batch 1"/,
      )
      await api.call('POST', '/api/holds/resume', { body: { scope: 'batch', target: '1', reason } })
      await api.world.settle()
      assert.equal(api.world.jobs.length, 0)
      await api.call('POST', '/api/holds/resume', { body: { scope: 'system', reason } })
      await api.refused(409, 'REFUSED', 'PUT', '/api/holds', {
        body: { scope: 'batch', target: '1', reason },
      })
      await api.refused(404, 'BATCH_NOT_FOUND', 'PUT', '/api/holds', {
        body: { scope: 'batch', target: '99', reason },
      })
      await api.world.settle()
      assert.ok(api.world.jobs.length > 0)
    })

    it('are listed in pages, of all or of one batch and its members', async () => {
      const other = { ...MEMBER, target: '2' }
      const every = [{ scope: 'worker', target: 'w1' }, other, { scope: 'system' }, BATCH, MEMBER]
      const hold = (on: object) => api.call('POST', '/api/holds', { body: { ...on, reason } })
      const resume = (on: object) =>
        api.call('POST', '/api/holds/resume', { body: { ...on, reason } })
      for (const on of every) await hold(on)
      const pages: string[][] = []
      let query = '?limit=2'
      for (let next: string | null = ''; next !== null; query = `?limit=2&cursor=${next}`) {
        const { body } = await api.call<Holds>('GET', `/api/holds${query}`)
        assert.equal(body.total, 5)
        pages.push(body.holds.map(({ scope, target }) => `${scope} ${target}`.trim()))
        next = body.next
      }
      assert.deepEqual(pages, [['system', 'worker w1'], ['batch 1', 'member 1'], ['member 2']])
      const { next } = (await api.call<Holds>('GET', '/api/holds?limit=4')).body
      await resume(MEMBER)
      await resume(other)
      const behind = (await api.call<Holds>('GET', `/api/holds?cursor=${next}`)).body
      assert.deepEqual([behind.holds, behind.total, behind.next], [[], 3, null])
      await hold(MEMBER)
      await hold(other)
      const ofBatch = await api.call<Holds>('GET', '/api/holds?batchId=1&scope=batch,member')
      assert.equal(ofBatch.body.total, 3)
      const ofNone = await api.call<Holds>('GET', '/api/holds?batchId=2')
      assert.deepEqual([ofNone.body.total, ofNone.body.holds], [0, []])
      for (const value of [null, 'x', 'x 1', '2026-13-01T00:00:00Z 1'])
        await api.refused(400, 'CURSOR_INVALID', 'GET', `/api/holds?cursor=${cursorOf(value)}`)
      for (const on of every) await resume(on)
      assert.equal((await list()).total, 0)
    })
  })
}

covers('giveReasonOfHold', 'holdMembers', 'holdWork', 'listHolds', 'resumeMembers', 'resumeWork')
