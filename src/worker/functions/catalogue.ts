// The contract of a worker function. Its schema is its signature: it converts texts to the declared types, rejects unfit
// parameters before anything runs, and is announced as JSON Schema. A function may run again with the same job id after a crash
// unless `isIdempotent` is false. It stops soon after its signal aborts and waits only on the clock it is given.
import { z } from 'zod'
import type { Clock } from '../../base/run/clock.ts'
import type { Json } from '../../base/text/json.ts'
import type { DeclaredFacts, FunctionFacts } from '../../domain/runbook/function-facts.ts'
import type { LedgerEffect } from '../../domain/state/effects.ts'
import { returnedFields } from './returned-fields.ts'
import type { Tenant } from './tenant.ts'

export interface FunctionCall<Params, In extends Tenant = Tenant> {
  readonly params: Params
  readonly tenant: In
  /** Aborts at the job's deadline and when the worker stops. Throw its reason then. */
  readonly signal: AbortSignal
  /** The same when a job is run again; a new one for every retry and every poll. */
  readonly jobId: string
  readonly clock: Clock
  /** The step has `poll`: "not yet" is an answer, so do not wait for it in here. */
  readonly isPolled?: boolean
  /** False: no parameter names what this worker made or changed lately, so what is not found does not exist. */
  readonly isRecent?: boolean
}

/** What the worker must be granted, by the service that grants it. */
export type Permissions = Readonly<Record<string, readonly string[]>>

/** Its facts say what the engine may rely on; without `effect` a call counts as a change. */
export interface FunctionDefinition<Params, Result extends Json, In extends Tenant = Tenant>
  extends DeclaredFacts {
  readonly name: string
  readonly description: string
  readonly parameters: z.ZodType<Params>
  readonly result: z.ZodType<Result>
  readonly permissions: Permissions
  /**
   * Running it twice has the effect of running it once. When false, the worker never reruns a job that another worker may have
   * started: the job fails with `OutcomeUnknown`, and a person decides.
   */
  readonly isIdempotent: boolean
  /** In the earlier system it answered `true`, and an orchestrator of that system gets the same. */
  readonly answeredTrue?: true
  /** May run again after it was throttled. Default: when it is idempotent. */
  readonly repeatsWhenThrottled?: boolean
  /** Changes things only through `tenant`, so the worker sees whether a failed job may have changed anything. */
  readonly actsOnlyOnTenant?: true
  /** How to reverse it, naming the function to use; null when there is nothing to reverse. */
  readonly undo: string | null
  /**
   * What a success has changed and the call that takes it back, for the undo ledger. Without it the effect is unknown, unless `undo` is
   * null: then there is nothing to take back.
   */
  readonly effectOf?: (params: Params, result: Result) => LedgerEffect
  /** Uses a call that Microsoft offers as beta: it may change, and production use is not supported. */
  readonly isBeta?: true
  /** A custom function only: it is meant to run instead of the built-in function of its name. Without it the worker refuses the name. */
  readonly overrides?: true
  /** Set by discovery: it comes from the folder of custom functions. */
  readonly isCustom?: true
  /** Changes what Microsoft guards on people with admin roles: for those the app needs a higher role itself. */
  readonly isSensitive?: true
  /** Returns the result that the runbook sees. Throwing fails the job, with the message as the reason people read. */
  run(call: FunctionCall<Params, In>): Promise<Result>
  /** Jobs that share a key are done in one go. Only for a function that is idempotent. */
  readonly together?: Together<Params, Result, In>
}

/** How a function acts on many. The worker collects jobs with the same key for a moment, calls once, and answers each. */
export interface Together<Params, Result extends Json, In extends Tenant = Tenant> {
  /** What the jobs share, such as their group; null for a job that is done alone. */
  key(params: Params): string | null
  /** The most jobs at once. */
  readonly limit: number
  /** How long the first job waits for others. */
  readonly waitMs: number
  /**
   * Returns an answer for each call, in their order: a result, or an error that fails this job alone. It throws only while nothing is
   * changed: the worker then tries halves, and in the end each job with the function's own `run`.
   */
  run(
    calls: readonly FunctionCall<Params, In>[],
    onBehalfOf: OnBehalfOf<In>,
  ): Promise<readonly (Result | Error)[]>
}

/** What a joint call needs to act for some of the jobs: what it changes counts as their change, and as nobody else's. */
export type OnBehalfOf<In extends Tenant = Tenant> = (
  calls: readonly FunctionCall<unknown, In>[],
) => Pick<FunctionCall<unknown, In>, 'tenant' | 'signal' | 'clock' | 'isRecent'>

export type WorkerFunction = FunctionDefinition<unknown, Json>

/** Functions by lower-case name: PowerShell, where these names come from, ignores case. */
export type Catalogue = ReadonlyMap<string, WorkerFunction>

export function catalogueOf(functions: readonly WorkerFunction[]): Catalogue {
  const catalogue = new Map(functions.map((fn) => [fn.name.toLowerCase(), fn]))
  if (catalogue.size < functions.length) {
    throw new Error('Two functions of this worker have the same name.')
  }
  return catalogue
}

/** Checks `run` against the schemas of its parameters and result. */
export const defineFunction = <Params, Result extends Json, In extends Tenant = Tenant>(
  definition: FunctionDefinition<Params, Result, In>,
): WorkerFunction => definition as unknown as WorkerFunction

/** What the engine may rely on, in words that name no vendor. */
export const factsIn = (definition: WorkerFunction): FunctionFacts => ({
  effect: definition.effect ?? 'changes',
  isIdempotent: definition.isIdempotent,
  undoneBy: definition.undoneBy ?? [],
  ...(definition.isIrreversible && { isIrreversible: true }),
  ...(definition.removes && { removes: true }),
  ...(definition.creates && { creates: true }),
  ...(definition.isMomentary && { isMomentary: true }),
  ...(definition.copy && { copy: definition.copy }),
  ...(definition.people && { people: definition.people }),
  ...(definition.comesAfter && { comesAfter: definition.comesAfter }),
  ...(definition.subject !== undefined && { subject: definition.subject }),
  ...(definition.countsSupply && { countsSupply: definition.countsSupply }),
  ...returnsOf(definition),
  ...(definition.isCustom && { isCustom: true }),
  ...(definition.overrides && { overrides: true }),
})

const returned = new WeakMap<WorkerFunction, Pick<FunctionFacts, 'returns'>>()

/** Made once, as the schemas of the parameters are. */
function returnsOf(definition: WorkerFunction): Pick<FunctionFacts, 'returns'> {
  const known = returned.get(definition)
  if (known) return known
  const returns = returnedFields(resultSchema(definition))
  const facts = returns === null ? {} : { returns }
  returned.set(definition, facts)
  return facts
}

const schemas = new WeakMap<WorkerFunction, Readonly<Record<string, Json>>>()

/**
 * The parameters as JSON Schema, for people and for `runbook validate`. Made once: each announcement made all of them again, a tenth of
 * a rehearsal's processor time.
 */
export function parametersSchema(definition: WorkerFunction): Readonly<Record<string, Json>> {
  const known = schemas.get(definition)
  if (known) return known
  const options = { io: 'input', unrepresentable: 'any' } as const
  const schema = z.toJSONSchema(definition.parameters, options) as Record<string, Json>
  schemas.set(definition, schema)
  return schema
}

/** The result as JSON Schema. */
export const resultSchema = ({ result }: WorkerFunction): Record<string, Json> =>
  z.toJSONSchema(result, { unrepresentable: 'any' }) as Record<string, Json>

/** Defaults for functions that touch no tenant: pretend functions and those of tests. */
export const TOUCHES_NOTHING = {
  result: z.json() as z.ZodType<Json>,
  permissions: {},
  isIdempotent: true,
  undo: null,
} as const satisfies Partial<WorkerFunction>
