// Temporary Access Passes: a user has one, and a new one replaces it. The value is told once, in the answer that makes it.
import { createHash } from 'node:crypto'
import { created, ok, recordUserEffect, type SandboxCall, type SandboxResponse } from '../call.ts'
import { guidOf } from '../identity.ts'
import type { JsonObject } from '../json.ts'
import { badRequest } from '../refusal.ts'
import { userOf } from './users.ts'

const MINUTES_DEFAULT = 60
const MINUTES_MIN = 10
const MINUTES_MAX = 43_200
const VALUE_CHARS = 8

const NOT_ALLOWED =
  'Converged UserCredentialPolicy does not allow creating or updating this authentication method. AuthMethodType [TemporaryAccessPass].'

export function readAccessPassPolicy({ tenant }: SandboxCall): SandboxResponse {
  const state = tenant.state.accessPasses === 'off' ? 'disabled' : 'enabled'
  const isUsableOnce = tenant.state.accessPasses === 'once'
  return ok({ id: 'TemporaryAccessPass', state, isUsableOnce, maximumLifetimeInMinutes: 480 })
}

export function makeAccessPass(call: SandboxCall): SandboxResponse {
  const user = userOf(call)
  // Observed (azure-docs issue 111778); its status is not known.
  if (call.tenant.state.accessPasses === 'off') throw badRequest(NOT_ALLOWED)
  const { isUsableOnce = false, lifetimeInMinutes = MINUTES_DEFAULT, startDateTime } = call.body
  const minutes = Number(lifetimeInMinutes)
  if (!(minutes >= MINUTES_MIN && minutes <= MINUTES_MAX))
    throw badRequest('The lifetimeInMinutes must be between 10 and 43200.')
  const start = startDateTime === undefined ? call.now : new Date(String(startDateTime))
  if (Number.isNaN(+start)) throw badRequest("Invalid value for property 'startDateTime'.")
  const seed = `${user.id}\n${call.ids.requestId}`
  const pass: JsonObject = {
    id: guidOf(user.id, 'access pass', call.ids.requestId),
    temporaryAccessPass: createHash('sha256').update(seed).digest('base64').slice(0, VALUE_CHARS),
    createdDateTime: call.now.toISOString(),
    startDateTime: start.toISOString(),
    lifetimeInMinutes: minutes,
    isUsableOnce,
    isUsable: start <= call.now,
    methodUsabilityReason: start <= call.now ? 'EnabledByPolicy' : 'NotYetValid',
  }
  recordUserEffect(call, 'access pass made', user, { lifetimeInMinutes: minutes })
  return created(pass)
}
