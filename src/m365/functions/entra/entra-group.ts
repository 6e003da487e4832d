// Membership in Entra groups. Graph reports "already a member" only in the text of a 400 and returns the same 404 for "not a
// member" and "no such group", so these functions ask again where a response is ambiguous.

import { z } from 'zod'
import type { Json, JsonObject } from '../../../base/text/json.ts'
import { ApiError, pathOf } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import { defineM365Function, type M365Call, type OnBehalfInM365 } from '../define.ts'
import { answerEach, NotFound, noGroup, notThereReason, noUser, orNotFound } from '../failure.ts'
import { forEachOf } from '../for-each.ts'
import { listChange } from '../inverse.ts'
import {
  anyList,
  expected,
  isGuid,
  isSameText,
  listParameter,
  objectId,
  userId,
} from '../parameters.ts'
import { changeOnce, onceIfPolled, type ReplicationContext, retryNamed } from '../replication.ts'
import { objectIdOf } from './entra-directory.ts'
import { addToGroup, MEMBERS_A_PAGE, type MemberIds, readMemberIds } from './entra-group-many.ts'

const membership = z.object({
  GroupId: z.array(z.string()).describe('The groups that were changed.'),
  UserId: z.string(),
  Changed: z.boolean(),
})
type Membership = { GroupId: string; UserId: string; Changed: boolean }
const parameters = z.strictObject({
  GroupId: anyList(objectId).describe('Object id of each group; an empty list does nothing.'),
  UserId: userId,
})
interface OfGroup {
  readonly GroupId: string
  readonly UserId: string
}

const inAll = (
  { UserId }: { readonly UserId: string },
  answers: readonly Membership[],
): z.infer<typeof membership> => {
  const changed = answers.filter(({ Changed }) => Changed)
  const GroupId = changed.map((one) => one.GroupId)
  return { GroupId, UserId: answers[0]?.UserId ?? UserId, Changed: changed.length > 0 }
}

/** People of one group, by object id: a name would have to be looked up for each. */
function groupOfId({ GroupId, UserId }: OfGroup): string | null {
  return isGuid(UserId) ? GroupId.toLowerCase() : null
}

const isAlreadyMember = ({ status, message }: ApiError): boolean =>
  status === 400 && /added object references already exist/i.test(message)

/** Group or user is too new to be known everywhere. */
const isTooEarly = (error: ApiError): boolean =>
  isNotFound(error) ||
  (error.status === 400 && /referenced (?:don't|do not) exist/i.test(error.message))

export const addEntraGroupMember = defineM365Function({
  name: 'Add-EntraGroupMember',
  answeredTrue: true,
  description: 'Adds a user to groups. Does not support dynamic groups or distribution lists.',
  parameters,
  result: membership,
  permissions: { graph: ['GroupMember.ReadWrite.All', 'User.Read.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  people: ['UserId'],
  undo: 'Remove-EntraGroupMember with the GroupId of the result.',
  undoneBy: ['Remove-EntraGroupMember'],
  effectOf: listChange('Remove-EntraGroupMember', 'GroupId', 'UserId'),
  ...forEachOf(
    'GroupId',
    {
      run: addOne,
      together: {
        key: groupOfId,
        limit: 200,
        waitMs: 1_000,
        run: (calls: readonly M365Call<OfGroup>[], onBehalfOf: OnBehalfInM365) =>
          addToGroup(calls, onBehalfOf, addOne),
      },
    },
    inAll,
  ),
})

async function addOne(call: M365Call<OfGroup>): Promise<Membership> {
  const { GroupId, UserId } = call.params
  const { graph } = call.tenant
  const id = await objectIdOf(call, UserId)
  const add = () =>
    graph.call({
      method: 'POST',
      path: pathOf`/groups/${GroupId}/members/$ref`,
      body: { '@odata.id': graph.urlOf(pathOf`/directoryObjects/${id}`) },
      signal: call.signal,
    })
  const addWhenVisible = () => retryNamed(call, add, isTooEarly)
  try {
    const isChange = await changeOnce(call, addWhenVisible, isAlreadyMember)
    return { GroupId, UserId: id, Changed: isChange }
  } catch (error) {
    if (!(error instanceof ApiError && isTooEarly(error))) throw error
    throw new NotFound(
      `The tenant has no group "${GroupId}" or no user "${UserId}". Check both ids.`,
    )
  }
}

/** Also true when the group does not exist, so the group is checked separately. */
const isNoMember = (error: ApiError): boolean =>
  isNotFound(error) ||
  (error.status === 400 && /removed object references do not exist/i.test(error.message))

export const removeEntraGroupMember = defineM365Function({
  name: 'Remove-EntraGroupMember',
  answeredTrue: true,
  description: 'Removes a user from groups.',
  parameters,
  result: membership,
  permissions: { graph: ['GroupMember.ReadWrite.All', 'User.Read.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  people: ['UserId'],
  undo: 'Add-EntraGroupMember with the GroupId of the result.',
  undoneBy: ['Add-EntraGroupMember'],
  effectOf: listChange('Add-EntraGroupMember', 'GroupId', 'UserId'),
  ...forEachOf('GroupId', { run: removeOne }, inAll),
})

async function removeOne(call: M365Call<OfGroup>): Promise<Membership> {
  const { GroupId, UserId } = call.params
  const id = await objectIdOf(call, UserId)
  const remove = () =>
    call.tenant.graph.call({
      method: 'DELETE',
      // Without `$ref` this would delete the user.
      path: pathOf`/groups/${GroupId}/members/${id}/$ref`,
      isIdempotent: false,
      signal: call.signal,
    })
  const isChange = await changeOnce(call, remove, isNoMember)
  if (!isChange) await requireGroup(call, GroupId)
  return { GroupId, UserId: id, Changed: isChange }
}

async function requireGroup(
  { tenant, signal }: ReplicationContext,
  groupId: string,
): Promise<void> {
  const path = pathOf`/groups/${groupId}`
  const look = () => tenant.graph.call({ method: 'GET', path, query: { $select: 'id' }, signal })
  await orNotFound(look, noGroup(groupId))
}

const tested = z.object({
  complete: z.boolean(),
  data: z.object({
    IsMember: z.boolean().describe('Of all of the groups.'),
    GroupId: z.array(z.string()),
    UserId: z.string(),
    Reason: notThereReason,
  }),
})

/** A test of no group would always pass, and an empty cell with it. */
const question = parameters.extend({
  GroupId: listParameter(objectId).describe('Object id of each group.'),
  Expected: expected,
})
interface Tested {
  complete: boolean
  data: { IsMember: boolean; GroupId: string; UserId: string; Reason: string | null }
  [name: string]: Json
}
interface Question extends OfGroup {
  readonly Expected: boolean
}
type Asking = M365Call<Question>

/** Microsoft's price for this call. */
const CHECK_UNITS = 4

export const testEntraGroupMembership = defineM365Function({
  name: 'Test-EntraGroupMembership',
  description:
    'Tests whether a user is a member of all groups of a list, or with Expected false of none, directly or through other groups. A group with hidden membership also needs Member.Read.Hidden.',
  parameters: question,
  result: tested,
  permissions: { graph: ['User.ReadBasic.All', 'GroupMember.Read.All'] },
  isIdempotent: true,
  effect: 'reads',
  subject: 'entra',
  undo: null,
  ...forEachOf(
    'GroupId',
    {
      run: testOne,
      together: {
        // Of somebody who should not be a member the list cannot say whether they exist.
        key: (params: Question) => (params.Expected ? groupOfId(params) : null),
        limit: 1_000,
        waitMs: 1_000,
        run: testAll,
      },
    },
    ({ UserId, GroupId }, answers) => ({
      complete: answers.every(({ complete }) => complete),
      data: {
        IsMember: answers.every(({ data }) => data.IsMember),
        GroupId: [...GroupId],
        UserId,
        Reason: answers.map(({ data }) => data.Reason).find((one) => one !== null) ?? null,
      },
    }),
  ),
})

async function testOne(call: Asking): Promise<Tested> {
  const { GroupId, UserId, Expected } = call.params
  try {
    const caller = onceIfPolled(call)
    const isMember = await isGroupMember(caller, GroupId, UserId)
    // A missing group has no members; without this check a misspelt id would pass as "not a member".
    if (!isMember) await requireGroup(caller, GroupId)
    return answer({ GroupId, UserId, Expected }, isMember)
  } catch (error) {
    if (!(error instanceof NotFound)) throw error
    const data = { IsMember: false, GroupId, UserId, Reason: error.message }
    return { complete: false, data }
  }
}

const answer = ({ GroupId, UserId, Expected }: Question, IsMember: boolean): Tested => ({
  complete: IsMember === Expected,
  data: { IsMember, GroupId, UserId, Reason: null },
})

/** Reads at most a page for each person: beyond that, asking for each costs less. A poll that finds nobody just looks again later. */
async function testAll(
  calls: readonly Asking[],
  onBehalfOf: OnBehalfInM365,
): Promise<readonly (Tested | Error)[]> {
  const { GroupId } = calls[0]!.params
  const caller = { ...onBehalfOf(calls), looksOnce: calls.every(({ isPolled }) => isPolled) }
  const most = calls.length * MEMBERS_A_PAGE
  const members = await readMemberIds(caller, GroupId, 'transitiveMembers', most)
  const isKnown = ({ params, isPolled }: Asking) =>
    isIn(members, params) || (members?.isWhole === true && isPolled === true)
  const rest = await answerEach(
    calls.filter((call) => !isKnown(call)),
    (call) => testOne({ ...call, ...onBehalfOf([call]) }),
  )
  return calls.map((call) => rest.get(call) ?? answer(call.params, isIn(members, call.params)))
}

const isIn = (members: MemberIds | null, { UserId }: Question): boolean =>
  members?.ids.has(UserId.toLowerCase()) ?? false

async function isGroupMember(
  call: ReplicationContext,
  groupId: string,
  userId: string,
): Promise<boolean> {
  const check = () =>
    call.tenant.graph.call({
      method: 'POST',
      path: pathOf`/users/${userId}/checkMemberGroups`,
      body: { groupIds: [groupId] },
      isRead: true,
      units: CHECK_UNITS,
      signal: call.signal,
    })
  const { body } = await orNotFound(() => retryNamed(call, check, isNotFound), noUser(userId))
  const groups = (body as JsonObject).value
  return Array.isArray(groups) && groups.some((id) => isSameText(String(id), groupId))
}
