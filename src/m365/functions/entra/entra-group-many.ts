// Membership of many people in one Entra group. Twenty are added in one request, all or none ("Add members", Graph), so members are read
// first and left out; a request that is refused is done again person by person. A test reads the group once for all who ask.
import { chunksOf } from '../../../base/run/chunks.ts'
import { ApiError, pathOf } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import type { M365Call, OnBehalfInM365 } from '../define.ts'
import { answerEach, answerOf, noGroup } from '../failure.ts'
import { type ReplicationContext, retryNamed } from '../replication.ts'

interface OfGroup {
  readonly GroupId: string
  readonly UserId: string
}

type Membership = { GroupId: string; UserId: string; Changed: boolean }

/** "When using the API to add multiple members in one request, you can add up to only 20 members." */
const ADDED_AT_ONCE = 20
/** The largest page of a list of members. */
export const MEMBERS_A_PAGE = 999
/** Microsoft's prices: of a page, less one for `$select`; transitive members are dearer. */
const UNITS = { members: 2, transitiveMembers: 4 } as const

export interface MemberIds {
  /** In lower case. */
  readonly ids: ReadonlySet<string>
  /** They are all members. */
  readonly isWhole: boolean
}

/** Up to `most` members. Null when there is no such group. */
export async function readMemberIds(
  caller: ReplicationContext,
  groupId: string,
  which: keyof typeof UNITS,
  most = Number.POSITIVE_INFINITY,
): Promise<MemberIds | null> {
  const { tenant, signal } = caller
  const read = async () => {
    const ids = new Set<string>()
    const list = tenant.graph.list({
      path: `${pathOf`/groups/${groupId}`}/${which}`,
      query: { $select: 'id', $top: String(MEMBERS_A_PAGE) },
      units: UNITS[which],
      signal,
    })
    for await (const { id } of list) {
      if (ids.size >= most) return { ids, isWhole: false }
      ids.add(String(id).toLowerCase())
    }
    return { ids, isWhole: true }
  }
  try {
    return await retryNamed(caller, read, isNotFound)
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

/** Adds all of them to their group. `addOne` adds a person alone. */
export async function addToGroup<Params extends OfGroup>(
  calls: readonly M365Call<Params>[],
  onBehalfOf: OnBehalfInM365,
  addOne: (call: M365Call<Params>) => Promise<Membership>,
): Promise<readonly (Membership | Error)[]> {
  const { GroupId } = calls[0]!.params
  const before = await readMemberIds(onBehalfOf(calls), GroupId, 'members')
  if (before === null) return calls.map(() => noGroup(GroupId))
  const idOf = ({ params }: M365Call<Params>) => params.UserId.toLowerCase()
  const absent = calls.filter((call) => !before.ids.has(idOf(call)))
  // Asked for twice at once, a person is added once.
  const newcomers = new Map(absent.map((call) => [idOf(call), call]))
  const answers = new Map<M365Call<Params>, Membership | Error>()
  let stop: Error | null = null
  for (const chunk of chunksOf([...newcomers.values()], ADDED_AT_ONCE)) {
    const failure: Error | null = stop ?? (await addChunk(onBehalfOf(chunk), GroupId, chunk))
    if (failure !== null && concernsAll(failure)) stop = failure
    for (const call of chunk)
      answers.set(call, failure === null ? changed(call, true) : (stop ?? failure))
    if (failure === null || stop !== null) continue
    const alone = await answerEach(chunk, (call) =>
      addAfter(failure, before.ids, { ...call, ...onBehalfOf([call]) }, addOne),
    )
    for (const [call, answer] of alone) answers.set(call, answer)
  }
  return calls.map((call) => {
    const newcomer = newcomers.get(idOf(call))
    const answer = newcomer && answers.get(newcomer)
    return answer && (newcomer === call || answer instanceof Error) ? answer : changed(call, false)
  })
}

const changed = ({ params }: M365Call<OfGroup>, Changed: boolean): Membership => ({
  GroupId: params.GroupId,
  UserId: params.UserId,
  Changed,
})

/** Null when all of them were added, otherwise why not. */
async function addChunk(
  { tenant: { graph }, signal }: ReplicationContext,
  groupId: string,
  chunk: readonly M365Call<OfGroup>[],
): Promise<Error | null> {
  const urls = chunk.map(({ params }) => graph.urlOf(pathOf`/directoryObjects/${params.UserId}`))
  const failed = await answerOf(async () => {
    await graph.call({
      method: 'PATCH',
      path: pathOf`/groups/${groupId}`,
      body: { 'members@odata.bind': urls },
      // A second one is refused as "already exist", which would hide that we added them.
      isIdempotent: false,
      signal,
    })
    return null
  })
  return failed
}

/** Throttling, an outage or a missing right: more requests would meet the same. */
const concernsAll = (error: Error): boolean =>
  !(error instanceof ApiError) ||
  (!error.isOutcomeUnknown && (error.status === null || ![400, 404, 409].includes(error.status)))

/** After an unknown outcome a member who was none before is our doing. */
async function addAfter<Params extends OfGroup>(
  failure: Error,
  before: ReadonlySet<string>,
  call: M365Call<Params>,
  addOne: (call: M365Call<Params>) => Promise<Membership>,
): Promise<Membership> {
  const added = await addOne(call)
  const isUnknown = failure instanceof ApiError && failure.isOutcomeUnknown
  const wasNone = !before.has(call.params.UserId.toLowerCase())
  return isUnknown && wasNone ? { ...added, Changed: true } : added
}
