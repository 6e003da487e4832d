// Moves the OneDrive of a person to another tenant, from the worker of the source. SharePoint's own cmdlets have no REST, so these functions
// use Graph's migration tasks, which Microsoft offers as beta (sharePointMigrationTask). A move can be stopped only before it starts.

import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { ApiError, pathOf } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import { odataText } from '../../client/tenant.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { textOf, textOrNull } from '../entra/entra-directory.ts'
import { FunctionRefused, notThereReason } from '../failure.ts'
import { by, never, whenChanged } from '../inverse.ts'
import { address, isSameText, optional } from '../parameters.ts'
import { onceIfPolled, type ReplicationContext, retryUntilFound } from '../replication.ts'

const TASKS = '/solutions/sharePoint/migrations/crossOrganizationMigrationTasks'
const MANAGE = { graph: ['SharePointCrossTenantMigration.Manage.All'] }
/** The permission to manage does not include reading (sharepointmigrationtask-get: no higher permission). */
const CHANGE = {
  graph: ['SharePointCrossTenantMigration.Manage.All', 'SharePointCrossTenantMigration.Read.All'],
}
const BETA = 'Beta: Microsoft may change it.'

const instant = optional(z.iso.datetime({ offset: true }))
const route = {
  SourceUserPrincipalName: address,
  TargetUserPrincipalName: address.describe('In the target tenant.'),
  TargetOrganizationHost: z
    .url({ protocol: /^https$/ })
    .describe('Of the target tenant, such as https://contoso-my.sharepoint.com.'),
}
const moveParameters = z.strictObject({
  ...route,
  PreferredStartDateTime: instant.describe('Not before this time; at once if missing.'),
  PreferredLatestStartDateTime: instant.describe('Cancelled if it has not started by then.'),
})
type Move = z.infer<typeof moveParameters>
type Route = Pick<Move, keyof typeof route>

const started = z.object({
  TaskId: z.string(),
  SourceUserPrincipalName: z.string(),
  TargetUserPrincipalName: z.string(),
  Status: z.string(),
  Changed: z.boolean(),
})
type Started = z.infer<typeof started>

export const startOneDriveMove = defineM365Function({
  name: 'Start-OneDriveMove',
  description: `Moves the OneDrive of a person to another tenant; run it on the worker of the source. The target must have an account and a licence, and no OneDrive yet. Makes a failed or cancelled move again. ${BETA}`,
  parameters: moveParameters,
  result: started,
  permissions: CHANGE,
  isIdempotent: true,
  isBeta: true,
  effect: 'changes',
  subject: 'onedrive',
  undo: 'Stop-OneDriveMove, before it starts. Afterwards there is none.',
  undoneBy: ['Stop-OneDriveMove'],
  effectOf: whenChanged((_, result) => {
    const { SourceUserPrincipalName, TargetUserPrincipalName } = result
    return by({
      target: SourceUserPrincipalName,
      before: {},
      run: 'Stop-OneDriveMove',
      with: { SourceUserPrincipalName, TargetUserPrincipalName },
      keeps: 'Microsoft cannot stop a move that has started.',
    })
  }),
  run: async (call: M365Call<Move>): Promise<Started> => {
    const known = await findTask(call, call.params.SourceUserPrincipalName)
    if (known !== null && isUnderWay(known)) {
      requireSameTarget(call.params, known)
      if (!isOtherStart(call.params, known)) return shown(call.params, known, false)
    }
    try {
      return shown(call.params, await postTask(call, startOf(call.params)), true)
    } catch (error) {
      if (!(error instanceof ApiError && error.isOutcomeUnknown)) throw error
      const made = await retryUntilFound(call, async () => {
        const now = await findTask(call, call.params.SourceUserPrincipalName)
        return now !== null && isUnderWay(now) && !isOtherStart(call.params, now) ? now : null
      })
      if (made === null) throw error
      return shown(call.params, made, true)
    }
  },
})

const isUnderWay = (task: JsonObject): boolean =>
  ['notStarted', 'inProgress', 'completed'].some((one) => isSameText(one, textOf(task.status)))

const parametersOf = (task: JsonObject): JsonObject => (task.parameters ?? {}) as JsonObject

/** Null when the task names its target in another way. */
const targetOf = (task: JsonObject): string | null =>
  textOrNull((parametersOf(task).targetUserIdentity as JsonObject | undefined)?.userPrincipalName)

function requireSameTarget(params: Route, task: JsonObject): void {
  const target = targetOf(task)
  if (target === null || isSameText(target, params.TargetUserPrincipalName)) return
  throw new FunctionRefused(
    `The OneDrive of "${params.SourceUserPrincipalName}" goes to "${target}" (${textOf(task.status)}), not to "${params.TargetUserPrincipalName}". ` +
      'Stop that move first (Stop-OneDriveMove), or correct TargetUserPrincipalName.',
  )
}

/** Only a move that waits takes another time. */
function isOtherStart(params: Move, task: JsonObject): boolean {
  const wanted = params.PreferredStartDateTime
  if (wanted === null || !isSameText(textOf(task.status), 'notStarted')) return false
  return Date.parse(textOf(parametersOf(task).preferredStartDateTime)) !== Date.parse(wanted)
}

const shown = (params: Move, task: JsonObject, isChange: boolean): Started => ({
  TaskId: textOf(task.id),
  SourceUserPrincipalName: params.SourceUserPrincipalName,
  TargetUserPrincipalName: params.TargetUserPrincipalName,
  Status: textOf(task.status),
  Changed: isChange,
})

/** Times of Graph are in UTC. */
const utc = (time: string): string => new Date(time).toISOString()

const startOf = ({ PreferredStartDateTime: from, PreferredLatestStartDateTime: to }: Move) => ({
  ...(from && { preferredStartDateTime: utc(from) }),
  ...(to && { preferredLatestStartDateTime: utc(to) }),
})

async function postTask(
  { tenant, signal, params }: M365Call<Route>,
  more: JsonObject,
  isRead = false,
): Promise<JsonObject> {
  const { body } = await tenant.graph.call({
    method: 'POST',
    version: 'beta',
    path: TASKS,
    body: {
      parameters: {
        '@odata.type': '#microsoft.graph.sharePointUserMigrationTaskParameters',
        targetOrganizationHost: params.TargetOrganizationHost,
        sourceUserIdentity: { userPrincipalName: params.SourceUserPrincipalName },
        targetUserIdentity: { userPrincipalName: params.TargetUserPrincipalName },
        ...more,
      },
    },
    isRead,
    signal,
  })
  return body as JsonObject
}

/** Null when the person has none. */
async function findTask(
  { tenant, signal }: ReplicationContext,
  source: string,
): Promise<JsonObject | null> {
  const path = `${TASKS}${pathOf`/getBySourceUserPrincipalName(sourcePrincipalName=${odataText(source)})`}`
  try {
    const { body } = await tenant.graph.call({ method: 'GET', version: 'beta', path, signal })
    return body as JsonObject
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

const ready = z.object({
  complete: z.boolean(),
  data: z.object({
    SourceUserPrincipalName: z.string(),
    Reason: z.string().nullable().describe('Why it would fail; null when it would not.'),
  }),
})

export const testOneDriveMoveReadiness = defineM365Function({
  name: 'Test-OneDriveMoveReadiness',
  description: `Tests whether the OneDrive of a person could move to another tenant; moves nothing. ${BETA} Unconfirmed: whether a gap is a refusal or a failed task; both are told.`,
  parameters: z.strictObject(route),
  result: ready,
  permissions: MANAGE,
  isIdempotent: true,
  isBeta: true,
  effect: 'reads',
  subject: 'onedrive',
  undo: null,
  run: async (call: M365Call<Route>): Promise<z.infer<typeof ready>> => {
    const Reason = await gapOf(call)
    const { SourceUserPrincipalName } = call.params
    return { complete: Reason === null, data: { SourceUserPrincipalName, Reason } }
  },
})

async function gapOf(call: M365Call<Route>): Promise<string | null> {
  try {
    const task = await postTask(call, { validateOnly: true }, true)
    return isSameText(textOf(task.status), 'completed') ? null : whyOf(task)
  } catch (error) {
    if (error instanceof ApiError && [400, 404, 409].includes(error.status ?? 0))
      return error.message
    throw error
  }
}

const whyOf = ({ error, status }: JsonObject): string =>
  textOf((error as JsonObject | null | undefined)?.message) || `The status is ${textOf(status)}.`

const progressed = z.object({
  complete: z.boolean(),
  data: z.object({
    SourceUserPrincipalName: z.string(),
    Status: z.string(),
    TaskId: z.string().nullable(),
    Reason: notThereReason,
  }),
})

export const testOneDriveMove = defineM365Function({
  name: 'Test-OneDriveMove',
  description: `Tests whether the OneDrive of a person has moved, for a step with poll. Fails at once when the move failed or was cancelled. ${BETA}`,
  parameters: z.strictObject({ SourceUserPrincipalName: address }),
  result: progressed,
  permissions: { graph: ['SharePointCrossTenantMigration.Read.All'] },
  isIdempotent: true,
  isBeta: true,
  effect: 'reads',
  subject: 'onedrive',
  undo: null,
  run: async (call): Promise<z.infer<typeof progressed>> => {
    const { SourceUserPrincipalName } = call.params
    const look = () => findTask(call, SourceUserPrincipalName)
    const task = await retryUntilFound(onceIfPolled(call), look)
    const Status = task === null ? 'NotFound' : textOf(task.status)
    if (['failed', 'cancelled'].some((one) => isSameText(one, Status)))
      throw new FunctionRefused(
        `The OneDrive move of "${SourceUserPrincipalName}" is ${Status}: ${whyOf(task!)} Start it again when that is settled: Start-OneDriveMove.`,
      )
    const Reason =
      task === null
        ? `"${SourceUserPrincipalName}" has no OneDrive move: Start-OneDriveMove.`
        : null
    const data = { SourceUserPrincipalName, Status, TaskId: textOrNull(task?.id), Reason }
    return { complete: isSameText(Status, 'completed'), data }
  },
})

const stopParameters = z.strictObject({
  SourceUserPrincipalName: address,
  TargetUserPrincipalName: optional(address).describe('If given, stops only the move to them.'),
})
const stopped = z.object({
  SourceUserPrincipalName: z.string(),
  Status: z.string(),
  Changed: z.boolean(),
})

export const stopOneDriveMove = defineM365Function({
  name: 'Stop-OneDriveMove',
  description: `Cancels a OneDrive move that has not started. Refuses one that has: Microsoft cannot stop it. ${BETA}`,
  parameters: stopParameters,
  result: stopped,
  permissions: CHANGE,
  isIdempotent: true,
  isBeta: true,
  effect: 'changes',
  subject: 'onedrive',
  undo: 'Start-OneDriveMove, if Changed is true.',
  undoneBy: ['Start-OneDriveMove'],
  effectOf: whenChanged((_, { SourceUserPrincipalName }) =>
    never(SourceUserPrincipalName, 'Start-OneDriveMove makes a new move.'),
  ),
  run: async (call): Promise<z.infer<typeof stopped>> => {
    const { SourceUserPrincipalName, TargetUserPrincipalName: to } = call.params
    const task = await findTask(call, SourceUserPrincipalName)
    const target = task && targetOf(task)
    const isAnother = to !== null && target !== null && !isSameText(target, to)
    const Status = task === null ? 'NotFound' : textOf(task.status)
    if (task === null || isAnother || !isUnderWay(task))
      return { SourceUserPrincipalName, Status, Changed: false }
    if (!isSameText(Status, 'notStarted')) throw tooLate(SourceUserPrincipalName, Status)
    await cancelTask(call, SourceUserPrincipalName, textOf(task.id))
    return { SourceUserPrincipalName, Status: 'cancelled', Changed: true }
  },
})

const tooLate = (source: string, status: string): FunctionRefused =>
  new FunctionRefused(
    `The OneDrive move of "${source}" is ${status} and cannot be stopped. Wait for it (Test-OneDriveMove), or move the files back by hand.`,
  )

async function cancelTask(call: ReplicationContext, source: string, id: string): Promise<void> {
  const path = `${TASKS}${pathOf`/${id}/cancel`}`
  const { tenant, signal } = call
  try {
    // Cancelled twice, it is refused; the status tells which of the two it was.
    await tenant.graph.call({ method: 'POST', version: 'beta', path, isIdempotent: true, signal })
  } catch (error) {
    if (!(error instanceof ApiError && [400, 409].includes(error.status ?? 0))) throw error
    const status = textOf((await findTask(call, source))?.status)
    if (isSameText(status, 'cancelled')) return
    throw isSameText(status, 'notStarted') ? error : tooLate(source, status)
  }
}
