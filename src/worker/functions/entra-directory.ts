// Users of the directory, as the Entra functions find them: by object id or user principal name, looked for again when they may
// be too new to be seen. What is not there is said by its name and with what to check.
import type { Json } from '../../domain/json.ts'
import { type JsonObject, pathOf } from '../m365/api.ts'
import { isNotFound, noUser, orNotFound } from './failure.ts'
import { isGuid } from './parameters.ts'
import { lookAgain, type ReplicationContext } from './replication.ts'

/** At once: null when there is none. */
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

/** Looks again for somebody who may be too new. */
export async function readUser(
  caller: ReplicationContext,
  userId: string,
  select: readonly string[],
): Promise<JsonObject> {
  const found = await lookAgain(caller, () => findUser(caller, userId, select))
  return found ?? Promise.reject(noUser(userId))
}

/** The reference to a user wants an object id. One that was given is taken at its word. */
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

/** A property that is a text, or nothing. */
export const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '')
export const textOrNull = (value: Json | undefined): string | null => textOf(value) || null
