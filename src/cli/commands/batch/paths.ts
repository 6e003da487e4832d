// API paths of batches and their members. A member is named by id or by key.
import { MatoolkitError } from '../../../base/errors/errors.ts'
import { type CommandContext, idOf, usageError } from '../../program/command-context.ts'
import type { Row } from '../../terminal/show.ts'

export const batchPath = (id: string | undefined): string => `/api/batches/${idOf('batch', id)}`

/**
 * Keys are compared in any case. Keys may be numbers, such as employee numbers: a number that is the id of one member and the key
 * of another is refused, not guessed. Throws MEMBER_NOT_FOUND.
 */
export async function findMemberId(
  context: CommandContext,
  batchId: string | undefined,
  member: string | undefined,
): Promise<number> {
  const [, kind, text = ''] = /^(?:(id|key):)?(.*)$/s.exec(member ?? '')!
  if (kind === 'id') return idOf('member', text)
  const isNumber = /^[1-9]\d*$/.test(text) && kind !== 'key'
  const found = await memberWithKey(context, batchId, text)
  if (!isNumber) {
    if (found !== null) return found
    const details = { batchId: idOf('batch', batchId), memberId: text }
    throw new MatoolkitError('MEMBER_NOT_FOUND', details)
  }
  const id = idOf('member', text)
  if (found === null || found === id) return id
  const path = `${batchPath(batchId)}/members/${id}`
  const { status } = await context.client.get(path, {}, { accepts: [404] })
  if (status === 404) return found
  throw usageError(
    `${text} is the id of one member of batch ${batchId} and the key of another: use id:${text} or key:${text}.`,
  )
}

async function memberWithKey(
  { client }: CommandContext,
  batchId: string | undefined,
  key: string,
): Promise<number | null> {
  // The API matches key prefixes; sorted by key, the exact match comes first.
  const query = { key, sort: 'key', limit: 10 }
  const { body } = await client.get<{ members: Row[] }>(`${batchPath(batchId)}/members`, query)
  const folded = key.trim().toLowerCase()
  const found = body.members.find(({ memberKey }) => String(memberKey).toLowerCase() === folded)
  return found ? Number(found.id) : null
}

export const memberPath = async (
  context: CommandContext,
  batchId: string | undefined,
  member: string | undefined,
): Promise<string> =>
  `${batchPath(batchId)}/members/${await findMemberId(context, batchId, member)}`
