// Directory lookups for the Entra functions, by object id or user principal name, with retries for users too new to be visible.
// A missing user is reported by name, with what to check.
import type { Json, JsonObject } from '../../../base/text/json.ts'
import { pathOf } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import { noUser, orNotFound } from '../failure.ts'
import { isGuid } from '../parameters.ts'
import { findNamed, type ReplicationContext } from '../replication.ts'

/** Looks once; null when there is no such user. */
export async function findUser(
  { tenant, signal }: ReplicationContext,
  userId: string,
  select: readonly string[],
): Promise<JsonObject | null> {
  try {
    const { body } = await tenant.graph.call({
      method: 'GET',
      path: pathOf`/users/${userId}`,
      query: { $select: select.join(',') },
      signal,
    })
    return body as JsonObject
  } catch (error) {
    if (isNotFound(error)) return null
    throw error
  }
}

/** Retries for a user who may be too new to be visible. */
export async function readUser(
  caller: ReplicationContext,
  userId: string,
  select: readonly string[],
): Promise<JsonObject> {
  const found = await findNamed(caller, () => findUser(caller, userId, select))
  return found ?? Promise.reject(noUser(userId))
}

/** References to users need an object id. A given one is used unchecked. */
export async function objectIdOf(caller: ReplicationContext, userId: string): Promise<string> {
  return isGuid(userId) ? userId : textOf((await readUser(caller, userId, ['id'])).id)
}

export async function changeUser(
  { tenant, signal }: ReplicationContext,
  id: string,
  change: JsonObject,
): Promise<void> {
  const path = pathOf`/users/${id}`
  await orNotFound(
    () => tenant.graph.call({ method: 'PATCH', path, body: change, signal }),
    noUser(id),
  )
}

/** A text property, or '' for anything else. */
export const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
export const textOrNull = (value: Json | undefined): string | null => textOf(value) || null
