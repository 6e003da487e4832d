// One request to the tenant, signed in: what was asked, who asked, and the way to say that something was changed.
import type { Json, JsonObject } from '../domain/json.ts'
import type { Effect } from './journal.ts'
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
  /** What stands in the path where the route has a name in braces. */
  readonly params: Readonly<Record<string, string>>
  readonly ids: CallIds
}

export interface CallIds {
  readonly requestId: string
  /** As sent; null when it was not. */
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

/** Writes an effect into the journal. */
export function did(
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

export const didTo = (call: SandboxCall, what: string, user: User, details: Json = {}): void =>
  did(call, what, { id: user.id, name: user.userPrincipalName }, details)

/** What a change means for the user's mail, in the journal too. */
export function settleMail(call: SandboxCall, user: User): void {
  const { world, tenant, now } = call
  const change = provisionMail(tenant, user, world.after(now, world.timing.exchangeLagSec))
  if (change !== null) didTo(call, change, user)
}
