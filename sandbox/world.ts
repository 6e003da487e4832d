// All tenants of a sandbox, their clock and their delays. Nothing happens between requests: before each one, `advance` applies
// everything that has fallen due, in order.
import type { Clock } from './clock.ts'
import { advanceCrossTenantJobs } from './cross-tenant-jobs.ts'
import { Journal } from './journal.ts'
import type { Json } from './json.ts'
import { provisionMail } from './mail.ts'
import { advanceMailboxMoves } from './mailbox-moves.ts'
import { advanceOneDriveMoves } from './onedrive-moves.ts'
import type { Replay } from './replay.ts'
import { forget } from './soft-deleted.ts'
import type { State, User } from './state.ts'
import { SandboxTenant } from './tenant.ts'

/** Delays, in seconds of the sandbox's clock. */
export interface Timing {
  /** Until reads find a new user or guest. */
  readonly replicationLagSec: number
  /** Until Exchange knows a new recipient. */
  readonly exchangeLagSec: number
  readonly tokenLifetimeSec: number
  /** Until an invited person accepts. */
  readonly acceptanceSec: number
  /** Until a mailbox is synced; each takes 0.5 to 1.5 times this. */
  readonly mailboxMoveSyncSec: number
  readonly mailboxMoveCompleteSec: number
  /** Until a mailbox move that is asked to stop has stopped, and until a removed one is gone. */
  readonly mailboxMoveStopSec: number
}

export const USUAL_TIMING: Timing = {
  replicationLagSec: 5,
  exchangeLagSec: 60,
  tokenLifetimeSec: 3_600,
  acceptanceSec: 1_800,
  mailboxMoveSyncSec: 3_600,
  mailboxMoveCompleteSec: 600,
  mailboxMoveStopSec: 180,
}

/** For use by hand: nothing lags, and a mailbox move takes seconds. */
export const FAST_TIMING: Timing = {
  replicationLagSec: 0,
  exchangeLagSec: 0,
  tokenLifetimeSec: 3_600,
  acceptanceSec: 0,
  mailboxMoveSyncSec: 4,
  mailboxMoveCompleteSec: 2,
  mailboxMoveStopSec: 1,
}

/** A deleted user can be restored for 30 days. */
const DELETED_KEPT_MS = 30 * 86_400_000

export class World {
  readonly clock: Clock
  readonly timing: Timing
  readonly journal = new Journal()
  readonly tenants: readonly SandboxTenant[]
  /** Null answers in the sandbox's own forms. */
  readonly replay: Replay | null

  constructor(state: State, clock: Clock, timing: Timing, replay: Replay | null) {
    this.replay = replay
    this.clock = clock
    this.timing = timing
    this.tenants = state.tenants.map((tenant) => new SandboxTenant(tenant))
    const now = clock.now().toISOString()
    for (const tenant of this.tenants)
      for (const user of tenant.users()) provisionMail(tenant, user, now)
  }

  /** Finds a tenant by id or domain. */
  tenant(idOrDomain: string): SandboxTenant | undefined {
    const name = idOrDomain.toLowerCase()
    return this.tenants.find((tenant) => tenant.id === name || tenant.hasDomain(name))
  }

  after(now: Date, seconds: number): string {
    return new Date(+now + seconds * 1000).toISOString()
  }

  /** Applies everything due by now. */
  advance(now: Date): void {
    for (const tenant of this.tenants) {
      advanceMailboxMoves(this, tenant, now)
      advanceOneDriveMoves(this, tenant, now)
      advanceCrossTenantJobs(this, tenant, now)
      for (const user of tenant.pendingUsers()) this.#advanceUser(tenant, user, now)
      forget(tenant, ({ deletedAt }) => Date.parse(deletedAt) + DELETED_KEPT_MS <= +now)
    }
  }

  #advanceUser(tenant: SandboxTenant, user: User, now: Date): void {
    const changedAt = user.externalUserStateChangeDateTime
    if (user.externalUserState === 'PendingAcceptance' && changedAt !== null) {
      const acceptedAt = this.after(new Date(changedAt), this.timing.acceptanceSec)
      if (acceptedAt <= now.toISOString()) {
        tenant.change(user, {
          externalUserState: 'Accepted',
          externalUserStateChangeDateTime: acceptedAt,
        })
        this.recordEvent(tenant, acceptedAt, 'invitation accepted', user)
      }
    }
    const isGone =
      user.deletedDateTime !== null && Date.parse(user.deletedDateTime) + DELETED_KEPT_MS <= +now
    if (isGone) tenant.purge(user)
  }

  /** Records an effect of time, not of a request. */
  recordEvent(
    tenant: SandboxTenant,
    at: string,
    what: string,
    user: User,
    details: Json = {},
  ): void {
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

  /** The whole state as plain data. */
  state(): State {
    return structuredClone({ tenants: this.tenants.map(({ state }) => state) })
  }
}
