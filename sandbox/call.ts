// One authenticated request to a tenant: the request, the caller, and functions that record its effects.

import type { Effect } from './journal.ts'
import type { Json, JsonObject } from './json.ts'
import { provisionMail } from './mail.ts'
import type { Application, User } from './state.ts'
import type { SandboxTenant } from './tenant.ts'
import type { World } from './world.ts'

export interface SandboxCall {
  readonly world: World
  readonly tenant: SandboxTenant
  readonly application: Application
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: JsonObject
  readonly now: Date
  /** Values of the named path segments. */
  readonly params: Readonly<Record<string, string>>
  readonly ids: CallIds
}

export interface CallIds {
  readonly requestId: string
  /** As sent; null when missing. */
  readonly clientRequestId: string | null
}

export interface SandboxResponse {
  readonly status: number
  readonly body?: Json
  readonly headers?: Readonly<Record<string, string>>
}

export const ok = (body: Json): SandboxResponse => ({ status: 200, body })
export const created = (body: Json): SandboxResponse => ({ status: 201, body })
export const NO_CONTENT: SandboxResponse = { status: 204 }

/** Records an effect in the journal. */
export function recordEffect(
  call: SandboxCall,
  what: string,
  on: Pick<Effect, 'id' | 'name'>,
  details: Json = {},
): void {
  call.world.journal.addEffect({
    at: call.now.toISOString(),
    tenantId: call.tenant.id,
    clientId: call.application.clientId,
    what,
    id: on.id,
    name: on.name,
    details,
    ...call.ids,
  })
}

export const recordUserEffect = (
  call: SandboxCall,
  what: string,
  user: User,
  details: Json = {},
): void => recordEffect(call, what, { id: user.id, name: user.userPrincipalName }, details)

/** Updates the user's recipient after a change and records it. */
export function updateMail(call: SandboxCall, user: User): void {
  const { world, tenant, now } = call
  const change = provisionMail(tenant, user, world.after(now, world.timing.exchangeLagSec))
  if (change !== null) recordUserEffect(call, change, user)
}
