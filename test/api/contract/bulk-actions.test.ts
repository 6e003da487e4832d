// Changes of many members that one can come back to: what was asked, what was done, and what has become of the people since.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { noStates } from '../../../src/domain/state/person-state.ts'
import { people } from '../../stories/world.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'
import { plain } from './fixtures.ts'

interface Action {
  id: number
  batchId: number
  action: string
  by: string
  reason: string
  state: string
  endedAt: string | null
  selection: object
  options: object
  selectedCount: number
  doneCount: number
  refusedCount: number
  now: Record<string, number>
  failedAgain: number
  heldNow: number
}
interface Actions {
  actions: Action[]
  total: number
  next: string | null
}
interface Members {
  members: {
    member: { memberKey: string; state: string; where: string }
    refusal: string | null
    failedAgain: boolean
  }[]
  total: number
  next: string | null
}
interface Changed {
  actionId: number | null
  doneCount: number
}

const reason = 'licences were added'
const members = (count: number) =>
  people(count).map(({ key }) => ({
    key,
    data: { UserPrincipalName: key, Action: 'Switch', Site: 's' },
  }))

describe('changes of many members', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(plain())
    api.world.answer = ({ parameters }) =>
      /^user[123]@/.test(String(Object.values(parameters)[0])) ? { fail: 'locked' } : { ok: true }
    await api.world.batch('plain', members(5), { startsInMin: 10 })
    await api.world.settle()
  })
  after(() => api.close())
  const act = async (verb: string, body: object) => {
    const sent = { body: { reason, ...body } }
    return (await api.call<Changed>('POST', `/api/batches/1/members/${verb}`, sent)).body
  }
  const list = async (query = '') => (await api.call<Actions>('GET', `/api/actions${query}`)).body
  const show = async (id: number) => (await api.call<Action>('GET', `/api/actions/${id}`)).body
  const membersOf = async (id: number, query = '') =>
    (await api.call<Members>('GET', `/api/actions/${id}/members${query}`)).body

  it('leave nothing behind as a dry run, and when all or nothing was nothing', async () => {
    assert.equal((await act('retry', { select: { all: true }, dryRun: true })).actionId, null)
    const none = await act('retry', { select: { ids: [1, 4] }, allOrNothing: true })
    assert.deepEqual([none.actionId, none.doneCount], [null, 0])
    assert.deepEqual(await list(), { actions: [], total: 0, isTotalExact: true, next: null })
  })

  it('say what was asked and done, and what became of each since', async () => {
    // The first person fails again; the second gets through.
    api.world.answer = ({ parameters }) =>
      String(Object.values(parameters)[0]).startsWith('user1@') ? { fail: 'locked' } : { ok: true }
    const { actionId } = await act('retry', {
      select: { ids: [1, 4], keys: ['USER2@contoso.example'] },
      fromStep: 'create',
    })
    const begun = await show(actionId!)
    assert.deepEqual(begun.now, { ...noStates(), preparing: 2 })
    await api.world.settle()
    const { id, now, failedAgain, ...shown } = await show(actionId!)
    assert.deepEqual(
      [shown.action, shown.batchId, shown.reason, shown.state],
      ['members.retry', 1, reason, 'ended'],
    )
    // Counted, not named: the answer is not personal.
    assert.deepEqual(shown.selection, { ids: 2, keys: 1 })
    assert.deepEqual(shown.options, { fromStep: 'create' })
    assert.deepEqual([shown.selectedCount, shown.doneCount, shown.refusedCount], [3, 2, 1])
    assert.deepEqual([now.failed, failedAgain, now.done! + now.preparing!], [1, 1, 1])
    const all = await membersOf(id)
    assert.deepEqual(
      all.members.map(({ member, refusal, failedAgain: again }) => [
        member.memberKey.split('@')[0],
        refusal === null,
        again,
      ]),
      [
        ['user1', true, true],
        ['user2', true, false],
        ['user4', false, false],
      ],
    )
    assert.match(all.members[2]!.refusal!, /not failed/)
    assert.equal((await membersOf(id, '?result=refused')).total, 1)
    const failed = await membersOf(id, '?state=failed&result=done')
    assert.deepEqual([failed.total, failed.members[0]!.member.state], [1, 'failed'])
    const first = await membersOf(id, '?limit=2')
    const rest = await membersOf(id, `?limit=2&cursor=${first.next}`)
    assert.deepEqual([...first.members, ...rest.members], all.members)
    assert.equal(rest.next, null)
  })

  it('are listed newest first, of all batches or of one', async () => {
    const held = await act('hold', { select: { search: 'user5' } })
    const { actions, total } = await list()
    assert.deepEqual(
      actions.map(({ action, id }) => [action, id]),
      [
        ['members.hold', held.actionId],
        ['members.retry', actions[1]!.id],
      ],
    )
    assert.deepEqual([total, actions[0]!.selection], [2, { search: 'user5' }])
    assert.equal((await show(held.actionId!)).heldNow, 1)
    const page = await list('?limit=1&batchId=1')
    const next = await list(`?limit=1&batchId=1&cursor=${page.next}`)
    assert.deepEqual([next.actions[0]!.action, next.next], ['members.retry', null])
    assert.equal((await list('?batchId=2')).total, 0)
    assert.equal((await list('?action=members.hold')).total, 1)
  })

  it('are interrupted when nothing moves for minutes', async () => {
    const { actions } = await list()
    const id = actions[0]!.id
    await api.world.db.query('update bulk_actions set ended_at = null where id = $1', [id])
    assert.equal((await show(id)).state, 'running')
    await api.world.pass(301)
    assert.equal((await show(id)).state, 'interrupted')
  })

  it('refuse an unknown one and a wrong cursor', async () => {
    await api.refused(404, 'ACTION_NOT_FOUND', 'GET', '/api/actions/99')
    await api.refused(404, 'ACTION_NOT_FOUND', 'GET', '/api/actions/99/members')
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/actions?cursor=x')
    await api.refused(400, 'CURSOR_INVALID', 'GET', '/api/actions/1/members?cursor=x')
  })
})

covers('getAction', 'listActionMembers', 'listActions')
