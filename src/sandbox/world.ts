// All tenants of a sandbox, the time they live in and how long things take there. Nothing happens between requests: `settle`
// brings the world up to the time before each one, in the order in which things fell due.
import type { Clock } from '../clock.ts'
import type { Json } from '../domain/json.ts'
import { Journal } from './journal.ts'
import { provisionMail } from './mail.ts'
import { settleMoves } from './mailbox-moves.ts'
import type { State, User } from './state.ts'
import { SandboxTenant } from './tenant.ts'

/** How long things take, in seconds of the sandbox's clock. */
export interface Timing {
  /** Until reads find a new user or guest. */
  readonly replicationLagSec: number
  /** Until Exchange knows of a new recipient. */
  readonly exchangeLagSec: number
  readonly tokenLifetimeSec: number
  /** Until an invited person has accepted. */
  readonly acceptanceSec: number
  /** Until a mailbox is copied; each takes between half and one and a half of it. */
  readonly moveSyncSec: number
  readonly moveCompleteSec: number
}

export const USUAL_TIMING: Timing = {
  replicationLagSec: 5,
  exchangeLagSec: 60,
  tokenLifetimeSec: 3_600,
  acceptanceSec: 1_800,
  moveSyncSec: 3_600,
  moveCompleteSec: 600,
}

/** For trying things out by hand: nothing lags, and a mailbox moves within seconds. */
export const FAST_TIMING: Timing = {
  replicationLagSec: 0,
  exchangeLagSec: 0,
  tokenLifetimeSec: 3_600,
  acceptanceSec: 0,
  moveSyncSec: 4,
  moveCompleteSec: 2,
}

/** A deleted user can be restored for 30 days. */
const DELETED_KEPT_MS = 30 * 86_400_000

export class World {
  readonly clock: Clock
  readonly timing: Timing
  readonly journal = new Journal()
  readonly tenants: readonly SandboxTenant[]

  constructor(state: State, clock: Clock, timing: Timing) {
    this.clock = clock
    this.timing = timing
    this.tenants = state.tenants.map((tenant) => new SandboxTenant(tenant))
    const now = clock.now().toISOString()
    for (const tenant of this.tenants)
      for (const user of tenant.users()) provisionMail(tenant, user, now)
  }

  /** By id or by one of its domains. */
  tenant(idOrDomain: string): SandboxTenant | undefined {
    const name = idOrDomain.toLowerCase()
    return this.tenants.find((tenant) => tenant.id === name || tenant.hasDomain(name))
  }

  after(now: Date, seconds: number): string {
    return new Date(+now + seconds * 1000).toISOString()
  }

  /** Everything that fell due until now. */
  settle(now: Date): void {
    for (const tenant of this.tenants) {
      settleMoves(this, tenant, now)
      for (const user of tenant.waiting()) this.#settleUser(tenant, user, now)
    }
  }

  #settleUser(tenant: SandboxTenant, user: User, now: Date): void {
    const changedAt = user.externalUserStateChangeDateTime
    if (user.externalUserState === 'PendingAcceptance' && changedAt !== null) {
      const acceptedAt = this.after(new Date(changedAt), this.timing.acceptanceSec)
      if (acceptedAt <= now.toISOString()) {
        tenant.change(user, {
          externalUserState: 'Accepted',
          externalUserStateChangeDateTime: acceptedAt,
        })
        this.happened(tenant, acceptedAt, 'invitation accepted', user)
      }
    }
    const isGone =
      user.deletedDateTime !== null && Date.parse(user.deletedDateTime) + DELETED_KEPT_MS <= +now
    if (isGone) tenant.purge(user)
  }

  /** An effect that time brought. */
  happened(tenant: SandboxTenant, at: string, what: string, user: User, details: Json = {}): void {
    this.journal.addEffect({
      at,
      tenantId: tenant.id,
      clientId: null,
      what,
      id: user.id,
      name: user.userPrincipalName,
      details,
      requestId: null,
      clientRequestId: null,
    })
  }

  /** Everything there is, as plain data. */
  state(): State {
    return structuredClone({ tenants: this.tenants.map(({ state }) => state) })
  }
}
