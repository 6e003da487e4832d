// Cross-organisation migration tasks of SharePoint, for people's OneDrives only (source: Graph beta, sharePointMigrationTask).

import { isAddress, isSameAddress } from '../addresses.ts'
import { NO_CONTENT, ok, recordEffect, type SandboxCall, type SandboxResponse } from '../call.ts'
import { guidOf } from '../identity.ts'
import { isObject, type Json, type JsonObject } from '../json.ts'
import { oneDriveProblem } from '../onedrive-moves.ts'
import { badRequest, GraphRefusal, notFound } from '../refusal.ts'
import type { OneDriveMove } from '../state.ts'

const USER_TASK = '#microsoft.graph.sharePointUserMigrationTaskParameters'
const BY_SOURCE = /^getBySourceUserPrincipalName\(sourcePrincipalName='((?:[^']|'')*)'\)$/i
const HOST = /^https:\/\/[a-z0-9-]+\.sharepoint\.(?:com|us|cn)\/?$/i

const conflict = (message: string) => new GraphRefusal(409, 'Conflict', message)

/** The newest one counts: a cancelled or failed task can be made again. */
const latestFrom = ({ tenant }: SandboxCall, upn: string): OneDriveMove | undefined =>
  tenant.state.oneDriveMoves.findLast((one) => isSameAddress(one.sourceUserPrincipalName, upn))

function taskOf(call: SandboxCall): OneDriveMove {
  const { task } = call.params
  const name = BY_SOURCE.exec(task!)?.[1]?.replaceAll("''", "'")
  const found =
    name === undefined
      ? call.tenant.state.oneDriveMoves.find(({ id }) => id === task)
      : latestFrom(call, name)
  if (!found) throw notFound(name ?? task!)
  return found
}

export const getOneDriveTask = (call: SandboxCall): SandboxResponse => ok(graphTask(taskOf(call)))

export function cancelOneDriveTask(call: SandboxCall): SandboxResponse {
  const move = taskOf(call)
  if (move.status !== 'notStarted')
    throw conflict(`The task cannot be cancelled: its status is ${move.status}.`)
  Object.assign(move, { status: 'cancelled', dueAt: null, updatedAt: call.now.toISOString() })
  record(call, 'OneDrive move cancelled', move)
  return NO_CONTENT
}

const record = (call: SandboxCall, what: string, move: OneDriveMove): void =>
  recordEffect(call, what, { id: move.id, name: move.sourceUserPrincipalName })

export function makeOneDriveTask(call: SandboxCall): SandboxResponse {
  const { world, tenant, now } = call
  const asked = askedFor(call)
  const problem = oneDriveProblem(world, asked)
  if (asked.isValidation)
    return ok({
      status: problem === null ? 'completed' : 'failed',
      ...(problem === null ? {} : { error: errorOf(problem) }),
    })
  const known = latestFrom(call, asked.sourceUserPrincipalName)
  if (known && ['inProgress', 'completed'].includes(known.status))
    throw conflict(`A migration of this user is ${known.status}.`)
  const begin = asked.startAt !== null && Date.parse(asked.startAt) > +now ? asked.startAt : now
  const { isValidation, ...wanted } = asked
  const dueAt = world.after(new Date(begin), world.timing.mailboxMoveCompleteSec)
  const move: OneDriveMove = {
    id: guidOf(
      tenant.id,
      'onedrive',
      asked.sourceUserPrincipalName,
      tenant.state.oneDriveMoves.length,
    ),
    ...wanted,
    status: 'notStarted',
    dueAt,
    error: null,
    startedAt: null,
    finishedAt: null,
    updatedAt: now.toISOString(),
  }
  if (known?.status === 'notStarted') Object.assign(known, { ...move, id: known.id })
  else tenant.state.oneDriveMoves.push(move)
  record(
    call,
    known?.status === 'notStarted' ? 'OneDrive move changed' : 'OneDrive move made',
    move,
  )
  return ok(graphTask(known?.status === 'notStarted' ? known : move))
}

function askedFor({ body, tenant, now }: SandboxCall) {
  const given = isObject(body.parameters) ? body.parameters : {}
  if (given['@odata.type'] !== USER_TASK)
    throw badRequest(`The type of 'parameters' is missing or not supported.`)
  const host = given.targetOrganizationHost
  if (typeof host !== 'string' || !HOST.test(host))
    throw badRequest(`Invalid value specified for property 'targetOrganizationHost'.`)
  const source = upnIn(given, 'sourceUserIdentity')
  if (!tenant.visibleUser(source, now)) throw notFound(source)
  const startAt = instantIn(given, 'preferredStartDateTime')
  const latestStartAt = instantIn(given, 'preferredLatestStartDateTime')
  if (startAt !== null && latestStartAt !== null && latestStartAt <= startAt)
    throw badRequest(
      `'preferredLatestStartDateTime' must be greater than 'preferredStartDateTime'.`,
    )
  return {
    sourceUserPrincipalName: source,
    targetUserPrincipalName: upnIn(given, 'targetUserIdentity'),
    targetOrganizationHost: host,
    startAt,
    latestStartAt,
    isValidation: given.validateOnly === true,
  }
}

function upnIn(given: JsonObject, name: string): string {
  const upn = isObject(given[name]) ? (given[name] as JsonObject).userPrincipalName : null
  if (!isAddress(upn)) throw badRequest(`Invalid value specified for property '${name}'.`)
  return upn
}

function instantIn(given: JsonObject, name: string): string | null {
  const value = given[name] ?? null
  if (value === null) return null
  if (typeof value !== 'string' || Number.isNaN(Date.parse(value)))
    throw badRequest(`Invalid value specified for property '${name}'.`)
  return new Date(value).toISOString()
}

const errorOf = (message: string): Json => ({ code: 'UserNotFound', message })

const graphTask = (move: OneDriveMove): Json => ({
  id: move.id,
  status: move.status,
  startedDateTime: move.startedAt,
  lastUpdatedDateTime: move.updatedAt,
  finishedDateTime: move.finishedAt,
  error: move.error === null ? null : errorOf(move.error),
  parameters: {
    '@odata.type': USER_TASK,
    targetOrganizationHost: move.targetOrganizationHost,
    sourceUserIdentity: { userPrincipalName: move.sourceUserPrincipalName },
    targetUserIdentity: { userPrincipalName: move.targetUserPrincipalName },
    preferredStartDateTime: move.startAt,
    preferredLatestStartDateTime: move.latestStartAt,
  },
})
