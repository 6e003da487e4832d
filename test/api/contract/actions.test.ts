// Operator actions on batches, members and steps over HTTP: each done, dry-run, refused, and refused for an outdated etag.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { answerWithInverse, plain, wave } from './fixtures.ts'

interface Decided {
  isDryRun: boolean
  batch: { status: string; held: { reason: string } | null; batchStartTime: string }
  phases: { phaseName: string; status: string }[]
  overdue: { phaseName: string }[]
  startsAtOnce: { phases: { phaseName: string; people: number; waitsFor: string | null }[] }
}
interface Outcome {
  isDryRun: boolean
  selectedCount: number
  selected: { memberKey: string }[]
  triedCount: number
  doneCount: number
  done: { memberId: number; memberKey: string }[]
  refusedCount: number
  refused: { memberId: number; reason: string }[]
}
interface StepPage {
  step: { id: number; status: string; hasLateResult: boolean }
  attempts: { outcome: string; error: string | null }[]
}

const reason = 'because'
const WRONG = { 'if-match': '"other"' }

/** Members named here fail at `create`. */
const failing =
  (...numbers: readonly number[]): ApiUnderTest['world']['answer'] =>
  ({ parameters }) =>
    numbers.some((n) => String(Object.values(parameters)[0]).startsWith(`user${n}@`))
      ? { fail: 'mailbox is locked' }
      : { ok: true }

const members = (count: number) =>
  people(count).map(({ key }) => ({
    key,
    data: { UserPrincipalName: key, Action: 'Switch', Site: 's' },
  }))

batchActions()
memberActions()
stepActions()

function batchActions(): void {
  describe('operator actions on a batch', () => {
    let api: ApiUnderTest
    before(async () => {
      api = await openApiUnderTest()
      await api.world.publish(plain())
      await api.world.publish(wave())
      await api.world.batch('plain', members(3), { startsInMin: 3000 })
    })
    after(() => api.close())
    const act = (batchId: number, verb: string, body: object = {}, headers = {}) =>
      api.call<Decided>('POST', `/api/batches/${batchId}/${verb}`, {
        body: { reason, ...body },
        headers,
      })

    it('reschedule it; the answer first names what would start at once', async () => {
      const soon = new Date(+api.world.clock.now() + 3_600_000).toISOString()
      const body = { reason, startTime: soon }
      const refused = await api.refused(
        409,
        'WOULD_BE_OVERDUE',
        'POST',
        '/api/batches/1/reschedule',
        {
          body,
        },
      )
      assert.match(refused.body.detail, /prepare/)
      const dry = await act(1, 'reschedule', { startTime: soon, dryRun: true })
      assert.deepEqual(
        dry.body.overdue.map(({ phaseName }) => phaseName),
        ['prepare'],
      )
      assert.deepEqual(
        dry.body.startsAtOnce.phases.map(({ phaseName, people, waitsFor }) => [
          phaseName,
          people,
          waitsFor,
        ]),
        [['prepare', 3, null]],
      )
      const done = await act(1, 'reschedule', { startTime: soon, allowOverdue: true })
      assert.equal(done.body.batch.batchStartTime, soon)
      const manual = await api.world.batch('plain', people(9).slice(8), { manual: true })
      await api.refused(409, 'REFUSED', 'POST', `/api/batches/${manual}/reschedule`, { body })
    })

    it('restart it only after a failed init', async () => {
      api.world.answer = () => ({ fail: 'no' })
      const batchId = await api.world.batch('wave', people(6).slice(5), { startsInMin: 3000 })
      await api.refused(409, 'REFUSED', 'POST', `/api/batches/${batchId}/restart`, {
        body: { reason },
      })
      await api.world.settle()
      const done = await act(batchId, 'restart')
      assert.deepEqual([done.status, done.body.batch.status], [200, 'init_dispatched'])
    })

    it('clone an ended batch into a manual one, once per key', async () => {
      const batchId = await api.world.batch('plain', members(3), { startsInMin: 9000 })
      const path = `/api/batches/${batchId}/clone`
      await api.refused(409, 'MEMBER_ELSEWHERE', 'POST', path, { body: { reason } })
      const tried = await act(batchId, 'cancel', { dryRun: true })
      assert.deepEqual([tried.body.isDryRun, tried.body.batch.status], [true, 'cancelled'])
      await act(batchId, 'cancel')
      const dry = await api.call('POST', path, { body: { reason, dryRun: true } })
      assert.deepEqual([dry.status, dry.body.batchId, dry.body.memberCount], [200, null, 3])
      const headers = { 'idempotency-key': 'clone-1' }
      const made = await api.call('POST', path, { body: { reason }, headers })
      assert.deepEqual([made.status, made.body.memberCount], [201, 3], made.text)
      assert.deepEqual(
        (await api.call('POST', path, { body: { reason }, headers })).body,
        made.body,
      )
      await api.refused(422, 'KEY_REUSED', 'POST', path, { body: { reason: 'other' }, headers })
      await api.refused(409, 'REFUSED', 'POST', path, { body: { reason, statuses: ['removed'] } })
      await api.call('DELETE', '/api/runbooks/plain/versions/1')
      await api.refused(404, 'RUNBOOK_NOT_FOUND', 'POST', path, { body: { reason } })
    })

    it('refuse an outdated etag and an unknown batch', async () => {
      const times = { startTime: '2030-01-01T00:00:00Z' }
      for (const verb of ['restart', 'reschedule', 'clone']) {
        const body = { reason, ...(verb === 'reschedule' && times) }
        const path = `/api/batches/2/${verb}`
        await api.refused(412, 'STATE_CHANGED', 'POST', path, { body, headers: WRONG })
        await api.refused(404, 'BATCH_NOT_FOUND', 'POST', `/api/batches/99/${verb}`, { body })
        await api.refused(400, 'REQUEST_INVALID', 'POST', path, { body: { reason: ' ' } })
      }
    })
  })
}

function memberActions(): void {
  describe('operator actions on members', () => {
    let api: ApiUnderTest
    before(async () => {
      api = await openApiUnderTest()
      await api.world.publish(plain())
      api.world.answer = failing(1, 2)
      await api.world.batch('plain', members(4), { startsInMin: 10 })
      await api.world.settle()
    })
    after(() => api.close())
    const act = (verb: string, body: object) =>
      api.call<Outcome>('POST', `/api/batches/1/members/${verb}`, { body: { reason, ...body } })
    const refused = (status: number, code: string, verb: string, body: object, headers = {}) =>
      api.refused(status, code, 'POST', `/api/batches/1/members/${verb}`, {
        body: { reason, ...body },
        headers,
      })

    it('dry runs list the members that would change and those refused', async () => {
      const { body } = await act('retry', { select: { all: true }, dryRun: true })
      assert.deepEqual([body.isDryRun, body.selectedCount, body.doneCount], [true, 2, 2])
      assert.deepEqual(
        body.selected.map(({ memberKey }) => memberKey.split('@')[0]),
        ['user1', 'user2'],
      )
      const named = await act('retry', { select: { ids: [1, 3] }, dryRun: true })
      assert.deepEqual([named.body.doneCount, named.body.refused[0]?.memberId], [1, 3])
      const { body: failed } = await api.call('GET', '/api/batches/1/members?status=failed')
      assert.equal(failed.total, 2)
    })

    it('refuse a selection that is empty, contradictory or outdated', async () => {
      const again = { select: { ids: [1] }, again: true }
      await refused(400, 'REQUEST_INVALID', 'retry', again)
      for (const select of [{}, { all: true, ids: [1] }, { all: false }, { ids: [] }])
        await refused(400, 'REQUEST_INVALID', 'retry', { select })
      const verbs = {
        retry: { fromStep: 'create' },
        skip: { step: 'create' },
        remove: {},
        readd: {},
        rollback: {},
        undo: {},
        move: { toBatchId: 1 },
        variable: { name: 'V', value: 1 },
      }
      for (const [verb, more] of Object.entries(verbs)) {
        const body = (select: object) => ({ select, ...more })
        await refused(409, 'SELECTION_CHANGED', verb, {
          ...body({ all: true }),
          expectedCount: 99,
        })
        await refused(404, 'MEMBER_NOT_FOUND', verb, body({ ids: [99] }))
        await refused(404, 'MEMBER_NOT_FOUND', verb, body({ keys: ['nobody@x.example'] }))
        await refused(412, 'STATE_CHANGED', verb, body({ all: true }), WRONG)
        await api.refused(404, 'BATCH_NOT_FOUND', 'POST', `/api/batches/9/members/${verb}`, {
          body: { reason, ...body({ all: true }) },
        })
      }
    })

    it('set no variable that hides a built-in one, names a secret, or is the key', async () => {
      const reserved = ['_batch_id', '_BATCH_ID', '_batch_start_time', '_any', 'secret:admin']
      for (const name of [
        ...reserved,
        'constructor',
        '__proto__',
        'UserPrincipalName',
        'userprincipalname',
      ]) {
        const set = { select: { all: true }, name, value: 'somebody else' }
        const reason = /^userprincipalname$/i.test(name)
          ? /run for another person/
          : /the name is reserved/
        const tried = await refused(422, 'VARIABLE_RESERVED', 'variable', set)
        assert.match(tried.body.detail, reason)
        await refused(422, 'VARIABLE_RESERVED', 'variable', { ...set, dryRun: true })
      }
      const outputs = {
        as: 'done',
        outputs: { _batch_id: 7 },
        step: 'create',
        select: { ids: [1] },
      }
      await refused(422, 'VARIABLE_RESERVED', 'skip', outputs)
      const step = await api.world.db.query<{ id: number }>(
        `select id from step_executions where batch_member_id = 1 and status = 'failed'`,
      )
      await api.refused(422, 'VARIABLE_RESERVED', 'POST', `/api/steps/${step[0]!.id}`, {
        body: { decision: 'done', reason, outputs: { UserPrincipalName: 'somebody else' } },
      })
      const kept = await api.world.db.query(
        'select from batch_members where worker_data_json::text like $1',
        ['%somebody else%'],
      )
      assert.equal(kept.length, 0)
    })

    it('set a variable, retry members by error, and redo a step', async () => {
      const set = await act('variable', { select: { error: 'LOCKED' }, name: 'Site', value: ['x'] })
      assert.deepEqual([set.body.doneCount, set.body.refusedCount], [2, 0])
      const named = { failedPhase: 'prepare', failedStep: 'create', error: 'locked' }
      api.world.answer = () => ({ ok: true })
      const retried = await act('retry', { select: named, expectedCount: 2, fromStep: 'create' })
      assert.deepEqual([retried.body.doneCount, retried.body.triedCount], [2, 2])
      await api.world.pass(600)
      const { body } = await api.call<{ batch: { status: string } }>('GET', '/api/batches/1')
      assert.equal(body.batch.status, 'completed')
      const redone = await act('retry', { select: { ids: [1] }, fromStep: 'switch', again: true })
      assert.equal(redone.body.doneCount, 1)
      const unknown = await act('retry', { select: { ids: [2] }, fromStep: 'nowhere', again: true })
      assert.match(unknown.body.refused[0]!.reason, /no step named nowhere/)
    })

    it('skip and mark done what failed, or the named step, for all named people or nobody', async () => {
      api.world.answer = failing(11, 12, 13)
      const who = members(15).slice(10)
      const batchId = await api.world.batch('plain', who, { startsInMin: 1600 })
      await api.world.pass(160 * 60)
      const on = (verb: string, body: object) =>
        api.call<Outcome>('POST', `/api/batches/${batchId}/members/${verb}`, {
          body: { reason, ...body },
        })
      const keys = ['USER11@contoso.example', 'user14@contoso.example']
      const none = await on('skip', { select: { keys }, allOrNothing: true })
      assert.deepEqual([none.body.doneCount, none.body.refusedCount], [0, 1])
      assert.match(none.body.refused[0]!.reason, /is active, not failed: name the step/)
      const some = await on('skip', { select: { keys } })
      assert.deepEqual(
        some.body.done.map(({ memberKey }) => memberKey),
        ['user11@contoso.example'],
      )
      const done = await on('skip', {
        select: { failedStep: 'create' },
        as: 'done',
        outputs: { ThingId: 1 },
      })
      assert.deepEqual([done.body.doneCount, done.body.refusedCount], [2, 0])
      const ahead = await on('skip', { select: { keys: keys.slice(1) }, step: 'prepare/create' })
      assert.match(ahead.body.refused[0]!.reason, /is succeeded/)
    })

    it('remove, add again and move people, each with the reason of a refusal', async () => {
      const who = members(25).slice(20)
      api.world.answer = () => ({ ok: true })
      const batchId = await api.world.batch('plain', who, { startsInMin: 3000 })
      const other = await api.world.batch('plain', members(26).slice(25), { startsInMin: 6000 })
      const on = (verb: string, body: object) =>
        api.call<Outcome>('POST', `/api/batches/${batchId}/members/${verb}`, {
          body: { reason, ...body },
        })
      const keys = ['user21@contoso.example', 'user22@contoso.example']
      assert.equal((await on('remove', { select: { keys } })).body.doneCount, 2)
      const twice = await on('remove', { select: { keys: keys.slice(1) } })
      assert.match(twice.body.refused[0]!.reason, /is already removed/)
      const back = await on('readd', { select: { all: true }, expectedCount: 2 })
      assert.equal(back.body.doneCount, 2)
      const moved = await on('move', { select: { keys }, toBatchId: other })
      assert.deepEqual([moved.body.doneCount, moved.body.refusedCount], [2, 0])
      const gone = await on('move', { select: { keys: keys.slice(1) }, toBatchId: other })
      assert.match(gone.body.refused[0]!.reason, /is removed, not active/)
      const path = `/api/batches/${batchId}/members/move`
      const body = { reason, select: { all: true }, toBatchId: 99 }
      await api.refused(404, 'BATCH_NOT_FOUND', 'POST', path, { body })
      const { body: there } = await api.call('GET', `/api/batches/${other}/members`)
      assert.equal(there.total, 3)
    })

    it('roll back what people have passed, with the rollbacks listed first', async () => {
      const back = 'rollbacks: { back: [{ name: undo, worker_id: w1, function: Undo-Thing }] }'
      const yaml = plain('undoable').replace('New-Thing', 'New-Thing, on_failure: back')
      await api.world.publish(`${yaml}${back}\n`)
      const who = members(32).slice(30)
      const batchId = await api.world.batch('undoable', who, { startsInMin: 1600 })
      await api.world.pass(161 * 60)
      const path = `/api/batches/${batchId}/members/rollback`
      const body = { reason, select: { keys: ['user31@contoso.example'] } }
      const both = { ...body, fromStep: 'create', fromPhase: 'prepare' }
      await api.refused(400, 'REQUEST_INVALID', 'POST', path, { body: both })
      const dry = await api.call<Outcome & { rollbacks: object[]; kept: object[] }>('POST', path, {
        body: { ...body, dryRun: true },
      })
      assert.deepEqual([dry.body.isDryRun, dry.body.doneCount], [true, 1])
      const undone = { rollsBack: ['prepare/create'], runs: ['undo'], memberCount: 1 }
      assert.deepEqual(dry.body.rollbacks, [{ rollback: 'back', ...undone }])
      assert.deepEqual(dry.body.kept, [])
      const before = api.world.jobs.length
      const done = await api.call<Outcome>('POST', path, { body })
      assert.equal(done.body.doneCount, 1)
      await api.world.settle()
      assert.deepEqual(
        api.world.jobs.slice(before).map(({ functionName }) => functionName),
        ['Undo-Thing'],
      )
      const none = await api.call<Outcome>('POST', path, {
        body: { ...body, fromPhase: 'cutover' },
      })
      assert.match(none.body.refused[0]!.reason, /no step in a phase named cutover/)
    })

    it('undo what was changed, after a plan; init last; a batch in flight wants a hold', async () => {
      const was = api.world.answer
      api.world.answer = answerWithInverse
      const init = 'init: [{ name: begin, worker_id: w1, function: Begin-Thing }]'
      await api.world.publish(`${plain('takenback')}${init}\n`)
      const who = members(42).slice(40)
      const batchId = await api.world.batch('takenback', who, { startsInMin: 1600 })
      await api.world.pass(161 * 60)
      const path = `/api/batches/${batchId}/members/undo`
      const all = { reason, select: { all: true } }
      await api.refused(409, 'REFUSED', 'POST', path, { body: all })
      const one = { reason, select: { keys: ['user41@contoso.example'] } }
      const dry = await api.call<Outcome & { effects: object[] }>('POST', path, {
        body: { ...one, dryRun: true },
      })
      const planned = { step: 'prepare/create', functionName: 'Undo-New-Thing', state: 'to_undo' }
      const plan = { ...planned, note: null, isPointOfNoReturn: false, memberCount: 1 }
      assert.deepEqual(dry.body.effects, [plan])
      const before = api.world.jobs.length
      const done = await api.call<Outcome>('POST', path, { body: one })
      assert.equal(done.body.doneCount, 1)
      await api.world.settle()
      assert.deepEqual(
        api.world.jobs.slice(before).map(({ functionName }) => functionName),
        ['Undo-New-Thing'],
      )
      const memberId = done.body.done[0]!.memberId
      const effects = `/api/batches/${batchId}/members/${memberId}/effects`
      const ledger = await api.call<{ items: Record<string, unknown>[] }>('GET', effects)
      const { state, functionName, after } = ledger.body.items[0]!
      assert.deepEqual([state, functionName, after], ['undone', 'New-Thing', { Id: 7 }])
      const progress = await api.call<object>('GET', `/api/batches/${batchId}/undo`)
      const none = { total: 0, done: 0, failed: 0, left: 0, open: 0 }
      assert.deepEqual(progress.body, { members: { ...none, total: 1, done: 1 }, init: none })
      await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/99/undo')
      const nobody = `/api/batches/${batchId}/members/999/effects`
      await api.refused(404, 'MEMBER_NOT_FOUND', 'GET', nobody)
      await api.refused(404, 'BATCH_NOT_FOUND', 'GET', '/api/batches/99/members/1/effects')
      const ofInit = `/api/batches/${batchId}/undo-init`
      const listed = await api.call<{ items: object[] }>('POST', ofInit, {
        body: { reason, dryRun: true },
      })
      assert.equal(listed.body.items.length, 1)
      await api.refused(409, 'REFUSED', 'POST', ofInit, { body: { reason } })
      await api.refused(412, 'STATE_CHANGED', 'POST', ofInit, { body: { reason }, headers: WRONG })
      const elsewhere = '/api/batches/99/undo-init'
      await api.refused(404, 'BATCH_NOT_FOUND', 'POST', elsewhere, { body: { reason } })
      await api.call('POST', '/api/holds', {
        body: { scope: 'batch', target: `${batchId}`, reason },
      })
      await api.call('POST', ofInit, { body: { reason } })
      await api.call('POST', '/api/holds/resume', {
        body: { scope: 'batch', target: `${batchId}`, reason },
      })
      await api.world.settle()
      assert.equal(api.world.jobs.at(-1)!.functionName, 'Undo-Begin-Thing')
      api.world.answer = was
    })

    it('write two audit rows for a change made in chunks', async () => {
      const { body } = await api.call<{ entries: { action: string; after: object }[] }>(
        'GET',
        '/api/audit?action=members.retry',
      )
      assert.deepEqual(body.entries[0]!.after, {
        selectedCount: 1,
        triedCount: 1,
        doneCount: 0,
        refusedCount: 1,
      })
      const begun = async () =>
        (await api.call('GET', '/api/audit?action=members.retry%20begun')).body.total as number
      const before = await begun()
      assert.ok(before > 0)
      await act('retry', { select: { ids: [1] }, dryRun: true })
      assert.equal(await begun(), before, 'a dry run begins nothing')
    })
  })
}

function stepActions(): void {
  describe('operator actions on a step', () => {
    let api: ApiUnderTest
    before(async () => {
      api = await openApiUnderTest()
      await api.world.publish(plain())
      api.world.answer = failing(1, 2)
      await api.world.batch('plain', members(3), { startsInMin: 10 })
      await api.world.settle()
    })
    after(() => api.close())
    const stepOf = async (member: number, name = 'create') => {
      const query = `memberId=${member}&step=${name}`
      const { body } = await api.call<{ steps: { id: number }[] }>(
        'GET',
        `/api/batches/1/steps?${query}`,
      )
      return `/api/steps/${body.steps[0]!.id}`
    }
    const act = (path: string, decision: string, body: object = {}, headers = {}) =>
      api.call<StepPage & { isDryRun: boolean }>('POST', path, {
        body: { decision, reason, ...body },
        headers,
      })

    it('show what was sent and what came back', async () => {
      const { body } = await api.call<StepPage>('GET', await stepOf(1))
      assert.equal(body.step.status, 'failed')
      assert.deepEqual(
        body.attempts.map(({ outcome, error }) => [outcome, error]),
        [['failed', 'mailbox is locked (TestError)']],
      )
      await api.refused(404, 'STEP_NOT_FOUND', 'GET', '/api/steps/999')
    })

    it('retry it alone', async () => {
      const path = await stepOf(1)
      const dry = await act(path, 'retry', { dryRun: true })
      assert.deepEqual([dry.body.isDryRun, dry.body.step.status], [true, 'pending'])
      assert.equal((await act(path, 'retry')).body.step.status, 'pending')
      await api.world.settle()
    })

    it('skip it or mark it done, after a dry run and with a current etag only', async () => {
      const one = await stepOf(1)
      const dry = await act(one, 'skip', { dryRun: true })
      assert.deepEqual([dry.body.isDryRun, dry.body.step.status], [true, 'skipped'])
      const seen = { 'if-match': dry.headers.get('etag')! }
      assert.equal((await act(one, 'skip', {}, seen)).body.step.status, 'skipped')
      const done = await act(await stepOf(2), 'done', { outputs: { ThingId: 7 } })
      assert.equal(done.body.step.status, 'succeeded')
      const [row] = await api.world.db.query<{ outputs: object }>(
        'select worker_data_json as outputs from batch_members where id = 2',
      )
      assert.deepEqual(row!.outputs, { ThingId: 7 })
    })

    it('accept a late success', async () => {
      api.world.answer = () => 'silent'
      await api.world.pass(600)
      const path = await stepOf(3, 'switch')
      const job = api.world.jobs.find(({ jobId }) => jobId === `step-${path.split('/').at(-1)}`)!
      await api.world.pass(3_600 + 120)
      await api.world.result(job, { ok: { done: true } })
      await api.world.settle()
      const { body } = await api.call<StepPage>('GET', path)
      assert.equal(body.step.hasLateResult, true)
      assert.equal((await act(path, 'accept-late')).body.step.status, 'succeeded')
    })

    it('refuse impossible changes, outdated etags and unknown steps', async () => {
      const path = await stepOf(1)
      for (const decision of ['retry', 'skip', 'done', 'accept-late']) {
        const body = { decision, reason }
        await api.refused(409, 'REFUSED', 'POST', path, { body })
        await api.refused(412, 'STATE_CHANGED', 'POST', path, { body, headers: WRONG })
        await api.refused(404, 'STEP_NOT_FOUND', 'POST', '/api/steps/999', { body })
      }
    })
  })
}

covers(
  'decideStep',
  'cloneBatch',
  'getStep',
  'getUndo',
  'listEffects',
  'moveMembers',
  'readdMembers',
  'removeMembers',
  'rescheduleBatch',
  'restartBatch',
  'retryMembers',
  'rollBackMembers',
  'setMemberVariable',
  'skipMembers',
  'undoInit',
  'undoMembers',
)
