// Batches and members as a person names them: a member by id or by key.

import { MatoolkitError } from '../../../base/errors/errors.ts'
import { foldKey } from '../../../domain/state/member-key.ts'
import { ApiRefusal } from '../../connection/api-refusal.ts'
import { readTime } from '../../input/typed-time.ts'
import { type CommandContext, idOf, usageError } from '../../program/command-context.ts'
import { inViewersZone } from '../../terminal/io.ts'

export interface NamedBatch {
  readonly batchId: number
}

/** The parameters of an endpoint of a batch. */
export const namedBatch = (id: string | undefined): NamedBatch => ({ batchId: idOf('batch', id) })

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

/** Another open wave of the same runbook, by its id or by the day or time of its cut-over. */
export async function findWave(
  context: CommandContext,
  wave: string,
  batchId: string,
): Promise<number> {
  if (/^[1-9]\d*$/.test(wave)) return idOf('batch', wave)
  const { client, io } = context
  const from = readTime(context, wave)
  const isDay = !wave.includes(':')
  const { batch } = await client.call('GET /api/batches/{batchId}', { params: namedBatch(batchId) })
  const { batches } = await client.call('GET /api/batches', {
    query: {
      runbook: batch.runbookName,
      status: 'detected,init_dispatched,active',
      startsFrom: from,
      startsBefore: new Date(+new Date(from) + (isDay ? DAY_MS : MINUTE_MS)).toISOString(),
      sort: 'start',
      limit: 5,
    },
  })
  const found = batches.filter(({ id }) => id !== batch.id)
  if (found.length === 1) return found[0]!.id
  const when = `${isDay ? 'in the 24 hours from' : 'at'} ${inViewersZone(io, from)}`
  const which = found.map(({ id }) => id).join(' and ') || 'no other'
  throw usageError(
    `Open waves of ${batch.runbookName} with their cut-over ${when}: ${which}. See: matoolkit batch list --sort start`,
  )
}

/**
 * Keys are compared in any case. Keys may be numbers, such as employee numbers: a number that is the id of one member and the key
 * of another is refused, not guessed. Throws MEMBER_NOT_FOUND.
 */
export async function findMemberId(
  context: CommandContext,
  batchId: string | undefined,
  member: string | undefined,
): Promise<number> {
  const batch = namedBatch(batchId)
  const [, kind, text = ''] = /^(?:(id|key):)?(.*)$/s.exec(member ?? '')!
  if (kind === 'id') return idOf('member', text)
  const isNumber = /^[1-9]\d*$/.test(text) && kind !== 'key'
  const found = await memberWithKey(context, batch, text)
  if (!isNumber) {
    if (found !== null) return found
    throw new MatoolkitError('MEMBER_NOT_FOUND', { ...batch, memberId: text })
  }
  const id = idOf('member', text)
  if (found === null || found === id) return id
  if (!(await isMember(context, batch, id))) return found
  throw usageError(
    `${text} is the id of one member of batch ${batchId} and the key of another: use id:${text} or key:${text}.`,
  )
}

async function isMember(
  { client }: CommandContext,
  batch: NamedBatch,
  memberId: number,
): Promise<boolean> {
  const params = { ...batch, memberId }
  try {
    await client.call('GET /api/batches/{batchId}/members/{memberId}', { params })
    return true
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 404) return false
    throw error
  }
}

async function memberWithKey(
  { client }: CommandContext,
  params: NamedBatch,
  key: string,
): Promise<number | null> {
  // The API matches key prefixes; sorted by key, the exact match comes first.
  const query = { key, sort: 'key', limit: 10 } as const
  const { members } = await client.call('GET /api/batches/{batchId}/members', { params, query })
  return members.find(({ memberKey }) => foldKey(memberKey) === foldKey(key))?.id ?? null
}

/** The parameters of an endpoint of a member. */
export const namedMember = async (
  context: CommandContext,
  batchId: string | undefined,
  member: string | undefined,
): Promise<NamedBatch & { readonly memberId: number }> => ({
  ...namedBatch(batchId),
  memberId: await findMemberId(context, batchId, member),
})
