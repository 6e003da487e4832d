// A package of functions: all that a worker knows about the tenants of one vendor. The worker runs its functions, and `app` chooses it.
import type { Log } from '../../base/log/log.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Config } from '../../base/settings/config.ts'
import type { Tokens } from '../../base/sign-in/token.ts'
import type { MeaningOf } from '../../domain/needs/error-meaning.ts'
import type { AnnouncedFunction } from '../../domain/runbook/catalogues.ts'
import type { Secrets } from '../http/api.ts'
import type { GateChange, ThrottleState } from '../http/throttle.ts'
import type { KeyVault } from '../secrets/key-vault.ts'
import type { WorkerFunction } from './catalogue.ts'
import type { Tenant } from './tenant.ts'

export interface FunctionPackage {
  readonly functions: readonly WorkerFunction[]
  /** The same as data: what plans, lint and the engine know before a worker announced itself. */
  readonly catalogue: readonly AnnouncedFunction[]
  /** What modules of custom functions get besides the worker's own kit. */
  readonly kit: Readonly<Record<string, unknown>>
  /** What the errors of its functions mean. */
  readonly meaningOf: MeaningOf
  /** For a worker without a tenant: every call fails and names the settings to set. */
  readonly noTenant: Tenant
  /** Null when the settings name no tenant. Throws when they are incomplete. */
  connect(options: ConnectOptions): Promise<ConnectedPackage | null>
}

export interface ConnectOptions {
  readonly config: Config
  readonly clock: Clock
  readonly log: Log
  readonly tokens: Tokens
  readonly secrets: Secrets
  /** May hold the certificate. */
  readonly keyVault: KeyVault | null
  readonly onGate: (change: GateChange) => void
}

export interface ConnectedPackage {
  readonly tenant: Tenant
  /** Signs in once, so that a worker that may not is found at its start. Throws SignInFault. */
  signIn(): Promise<void>
  /** Gates and concurrency of its services now. */
  throttles(): ThrottleState[]
  /** Rights that the sign-in lacks, each with the functions that need it. */
  missingRights(
    functions: readonly WorkerFunction[],
  ): Iterable<readonly [string, readonly string[]]>
  /** Ends what it started on this machine. */
  close?(): void
}
